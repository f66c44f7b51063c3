#include "schedule/chunk_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/units.h"
#include "schedule/chunk_tensors.h"

namespace horizon {
namespace {

// `shards` nearly equal ranges of a stage's units, cut at multiples of its tile.
std::vector<UnitRange> EqualRanges(const Stage& stage, int64_t shards) {
  const int64_t tiles = (stage.units + stage.unit_tile - 1) / stage.unit_tile;
  // tiles * i / shards, without the product of two large numbers.
  const auto cut = [&](int64_t i) {
    const int64_t tile = tiles / shards * i + tiles % shards * i / shards;
    return std::min(stage.units, tile * stage.unit_tile);
  };
  std::vector<UnitRange> ranges;
  for (int64_t i = 0; i < shards; ++i) ranges.push_back({.begin = cut(i), .end = cut(i + 1)});
  return ranges;
}

// Parameters of the largest of `shards` EqualRanges, without listing them: of t tiles each range
// has t / shards, and t % shards of them, always the last among these, have one more.
uint64_t LargestShard(const Stage& stage, int64_t shards) {
  const int64_t tiles = (stage.units + stage.unit_tile - 1) / stage.unit_tile;
  const auto range_of = [&](int64_t begin, int64_t end) {
    return ParametersInUnits(stage, {.begin = std::min(stage.units, begin * stage.unit_tile),
                                     .end = std::min(stage.units, end * stage.unit_tile)});
  };
  const int64_t each = tiles / shards;
  const int64_t longer = tiles % shards;
  const int64_t last = each + (longer > 0 ? 1 : 0);
  uint64_t largest = std::max(range_of(0, each), range_of(tiles - last, tiles));
  // One that is neither the first, which holds what is not cut, nor the last, which may be shorter.
  if (longer > 1) largest = std::max(largest, range_of(1, 2 + each));
  if (longer <= 1 && shards > 2) largest = std::max(largest, range_of(1, 1 + each));
  return largest;
}

// More than any plan could mean; keeps a hostile model from filling the memory with its chunks.
constexpr int64_t kMostChunks = 1'000'000;

class Cutter {
 public:
  Cutter(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan)
      : plan_(plan), link_bytes_(BytesOfParameter(job).link) {
    table_.stages = ListStages(spec);
    table_.tied = spec.tied;
  }

  absl::StatusOr<ChunkTable> Cut() {
    const int32_t last = static_cast<int32_t>(table_.stages.size()) - 1;
    ASSIGN_OR_RETURN(table_.embedding, AddTable(0));
    RETURN_IF_ERROR(AddLayers());
    table_.head = table_.embedding;
    if (!table_.tied) {
      ASSIGN_OR_RETURN(table_.head, AddTable(last));
    }
    MarkResident();
    for (int32_t c = 0; c < next_chunk(); ++c) CountBlocks(c);
    for (const Chunk& chunk : table_.chunks) table_.parameters += chunk.parameters;
    return std::move(table_);
  }

 private:
  bool streams() const { return plan_.strategy == Strategy::kHorizon; }

  // The shards a stage is cut into: the fewest that fit chunk_bytes each.
  absl::StatusOr<std::vector<UnitRange>> ShardsOf(const Stage& stage) {
    const uint64_t limit = plan_.chunk_bytes.value() / link_bytes_;
    if (!streams() || stage.parameters <= limit) return EqualRanges(stage, 1);
    const int64_t tiles = (stage.units + stage.unit_tile - 1) / stage.unit_tile;
    const uint64_t fewest = limit == 0 ? tiles : (stage.parameters + limit - 1) / limit;
    const int64_t room = kMostChunks - next_chunk();
    const auto key = std::tuple(stage.kind, stage.parameters, stage.units);
    if (const auto known = shards_of_.find(key); known != shards_of_.end()) {
      if (static_cast<int64_t>(known->second.size()) > room) return TooManyChunks(stage);
      return known->second;
    }
    const uint64_t least = LargestShard(stage, tiles);
    for (int64_t shards = static_cast<int64_t>(std::min<uint64_t>(fewest, tiles));
         least <= limit && shards <= tiles; ++shards) {
      if (shards > room) return TooManyChunks(stage);
      if (LargestShard(stage, shards) <= limit) return shards_of_[key] = EqualRanges(stage, shards);
    }
    return absl::FailedPreconditionError(
        StrCat("chunk_bytes ", WithCommas(plan_.chunk_bytes.value()), " cannot hold ", stage.name,
               " even when it is cut into ", tiles, " shards: set chunk_bytes to at least ",
               WithCommas(least * link_bytes_)));
  }

  absl::Status TooManyChunks(const Stage& stage) const {
    return absl::FailedPreconditionError(StrCat(
        "chunk_bytes ", WithCommas(plan_.chunk_bytes.value()), " cuts the model up to ", stage.name,
        " into more than ", WithCommas(kMostChunks), " chunks: set a larger chunk_bytes"));
  }

  int32_t AddChunk(Chunk chunk) {
    table_.chunks.push_back(chunk);
    return static_cast<int32_t>(table_.chunks.size()) - 1;
  }
  int32_t next_chunk() const { return static_cast<int32_t>(table_.chunks.size()); }
  int32_t next_piece() const { return static_cast<int32_t>(table_.pieces.size()); }

  // One chunk for each shard of a stage.
  void AddShards(int32_t stage, const std::vector<UnitRange>& ranges, Chunk pattern) {
    for (size_t i = 0; i < ranges.size(); ++i) {
      Chunk chunk = pattern;
      chunk.pieces = {next_piece(), next_piece() + 1};
      chunk.parameters = ParametersInUnits(table_.stages[stage], ranges[i]);
      chunk.shard = static_cast<int32_t>(i);
      chunk.shards = static_cast<int32_t>(ranges.size());
      table_.pieces.push_back({.stage = stage, .units = ranges[i]});
      AddChunk(chunk);
    }
  }

  absl::StatusOr<IndexRange> AddTable(int32_t stage) {
    ASSIGN_OR_RETURN(const std::vector<UnitRange> ranges, ShardsOf(table_.stages[stage]));
    const int32_t begin = next_chunk();
    AddShards(stage, ranges, {});
    return IndexRange{begin, next_chunk()};
  }

  // A link closes: its chunks are all those since the last one.
  void CloseLink() {
    const int32_t begin = table_.links.empty() ? table_.layers.begin : table_.links.back().end;
    if (begin == next_chunk()) return;
    for (int32_t c = begin; c < next_chunk(); ++c) {
      table_.chunks[c].link = static_cast<int32_t>(table_.links.size());
    }
    table_.links.push_back({begin, next_chunk()});
  }

  void CloseBlock() {
    const Block last = table_.blocks.empty() ? Block{{table_.layers.begin, table_.layers.begin}, {}}
                                             : table_.blocks.back();
    const Block block{{last.chunks.end, next_chunk()},
                      {last.links.end, static_cast<int32_t>(table_.links.size())}};
    for (int32_t c = block.chunks.begin; c < block.chunks.end; ++c) {
      table_.chunks[c].block = static_cast<int32_t>(table_.blocks.size());
    }
    table_.blocks.push_back(block);
  }

  // Packs stages [begin, end) into chunks, none of which crosses `end`.
  absl::Status AddStages(int32_t begin, int32_t end) {
    const uint64_t limit = plan_.chunk_bytes.value() / link_bytes_;
    bool open = false;  // the last chunk may take another stage
    for (int32_t s = begin; s < end; ++s) {
      const Stage& stage = table_.stages[s];
      ASSIGN_OR_RETURN(const std::vector<UnitRange> ranges, ShardsOf(stage));
      if (ranges.size() > 1) {
        CloseLink();
        AddShards(s, ranges, {});
        CloseLink();
        open = false;
        continue;
      }
      const bool joins =
          open && (!streams() || table_.chunks.back().parameters + stage.parameters <= limit);
      if (!joins) {
        CloseLink();
        AddShards(s, ranges, {});
      } else {
        AddToLast(s);
      }
      open = true;
    }
    CloseLink();
    return absl::OkStatus();
  }

  void AddToLast(int32_t stage) {
    table_.pieces.push_back({.stage = stage, .units = {0, table_.stages[stage].units}});
    table_.chunks.back().pieces.end = next_piece();
    table_.chunks.back().parameters += table_.stages[stage].parameters;
  }

  // A shard cannot take it: the norm follows the sum over all shards of the last stage.
  void AddFinalNorm(int32_t stage) {
    if (table_.chunks.back().shards == 1) return AddToLast(stage);
    AddShards(stage, EqualRanges(table_.stages[stage], 1), {});
    CloseLink();
  }

  absl::Status AddLayers() {
    table_.layers.begin = next_chunk();
    const int32_t layer_stages = static_cast<int32_t>(table_.stages.size()) - 3;  // two a layer
    const int64_t block_stages = 2 * plan_.anchor_interval;
    const int64_t run_stages = streams() ? block_stages : 2;
    for (int64_t run = 0; run < layer_stages; run += run_stages) {
      const int64_t end = std::min<int64_t>(run + run_stages, layer_stages);
      RETURN_IF_ERROR(AddStages(static_cast<int32_t>(1 + run), static_cast<int32_t>(1 + end)));
      if (end == layer_stages) AddFinalNorm(1 + layer_stages);
      if (plan_.recompute && (end % block_stages == 0 || end == layer_stages)) CloseBlock();
    }
    table_.layers.end = next_chunk();
    if (!plan_.recompute) EachLinkIsABlock();
    return absl::OkStatus();
  }

  void EachLinkIsABlock() {
    for (int32_t link = 0; link < static_cast<int32_t>(table_.links.size()); ++link) {
      table_.blocks.push_back({table_.links[link], {link, link + 1}});
      for (int32_t c = table_.links[link].begin; c < table_.links[link].end; ++c) {
        table_.chunks[c].block = link;
      }
    }
  }

  void CountBlocks(int32_t c) {
    Chunk& chunk = table_.chunks[c];
    ForEachSlice(table_, c, [&](const TensorSlice& slice) {
      chunk.moment_blocks += (slice.count + kMomentBlock - 1) / kMomentBlock;
      chunk.norm_blocks += NormBlocksOf(slice);
    });
  }

  void MarkResident() {
    const auto mark = [this](IndexRange range) {
      for (int32_t c = range.begin; c < range.end; ++c) table_.chunks[c].resident = true;
    };
    if (plan_.strategy == Strategy::kResident) return mark({0, next_chunk()});
    if (plan_.embedding_home == EmbeddingHome::kDevice) mark(table_.embedding);
    if (!streams()) return mark(table_.head);
    int64_t left = plan_.resident_chunks;
    const auto take = [&](int32_t c) {
      if (left > 0 && !table_.chunks[c].resident) {
        table_.chunks[c].resident = true;
        --left;
      }
    };
    for (int32_t c = table_.head.begin; c < table_.head.end; ++c) take(c);
    for (int32_t c = table_.layers.end - 1; c >= table_.layers.begin; --c) take(c);
  }

  const StreamPlan& plan_;
  uint64_t link_bytes_;
  ChunkTable table_;
  std::map<std::tuple<StageKind, uint64_t, int64_t>, std::vector<UnitRange>> shards_of_;
};

}  // namespace

int32_t ChunkTable::LargestBlock() const {
  int32_t largest = 0;
  for (const Block& block : blocks) largest = std::max(largest, block.chunks.size());
  return largest;
}

std::string ChunkTable::NameOf(int32_t chunk) const {
  const Chunk& c = chunks[chunk];
  const std::span<const ChunkPiece> parts = PiecesOf(c);
  std::string name = stages[parts.front().stage].name;
  if (parts.size() > 1) {
    name += StrCat("..", stages[parts.back().stage].name);
  } else if (c.shards > 1) {
    name += StrCat(" shard ", c.shard + 1, "/", c.shards);
  }
  return name;
}

absl::StatusOr<ChunkTable> CutIntoChunks(const ModelSpec& spec, const TrainingJob& job,
                                         const StreamPlan& plan) {
  return Cutter(spec, job, plan).Cut();
}

}  // namespace horizon
