#include "schedule/chunk_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/trained_tensors.h"
#include "schedule/chunk_tensors.h"
#include "schedule/strategy_rules.h"

namespace horizon {
namespace {

bool IsTable(const Stage& stage) {
  return stage.kind == StageKind::kEmbedding || stage.kind == StageKind::kHead;
}

// `shards` nearly equal ranges of a table's rows, cut at multiples of its tile.
std::vector<UnitRange> EqualRanges(const Stage& table, int64_t shards) {
  const int64_t tiles = (table.units + table.unit_tile - 1) / table.unit_tile;
  // tiles * i / shards, without the product of two large numbers.
  const auto cut = [&](int64_t i) {
    const int64_t tile = tiles / shards * i + tiles % shards * i / shards;
    return std::min(table.units, tile * table.unit_tile);
  };
  std::vector<UnitRange> ranges;
  for (int64_t i = 0; i < shards; ++i) ranges.push_back({.begin = cut(i), .end = cut(i + 1)});
  return ranges;
}

// Parameters of the largest of `shards` EqualRanges, without listing them: of t tiles each range
// has t / shards, and t % shards of them, always the last among these, have one more.
uint64_t LargestEqualRange(const Stage& table, int64_t shards) {
  const int64_t tiles = (table.units + table.unit_tile - 1) / table.unit_tile;
  const auto range_of = [&](int64_t begin, int64_t end) {
    return ParametersInUnits(table, {.begin = std::min(table.units, begin * table.unit_tile),
                                     .end = std::min(table.units, end * table.unit_tile)});
  };
  const int64_t each = tiles / shards;
  const int64_t longer = tiles % shards;
  // Several that are longer are not all the last one, whose last tile may be short.
  if (longer > 1 || (longer == 0 && shards > 1)) return range_of(0, each + (longer > 1 ? 1 : 0));
  return std::max(range_of(0, shards > 1 ? each : 0), range_of(tiles - each - longer, tiles));
}

// The fewest EqualRanges of at most `limit` parameters each. `limit` holds a tile.
int64_t FewestEqualRanges(const Stage& table, uint64_t limit) {
  const int64_t tiles = (table.units + table.unit_tile - 1) / table.unit_tile;
  const uint64_t tile = static_cast<uint64_t>(table.unit_tile) * table.parameters_per_unit;
  const auto in_one = static_cast<int64_t>(std::max<uint64_t>(1, limit / tile));
  const int64_t shards = (tiles + in_one - 1) / in_one;
  // One less may do where only the last range is longer, and its last tile is short.
  return shards > 1 && LargestEqualRange(table, shards - 1) <= limit ? shards - 1 : shards;
}

// Runs of units of at most `limit` parameters each, every one as long as it can be; the fewest
// there are. `limit` holds every unit.
std::vector<UnitRange> LongestRuns(const Stage& stage, uint64_t limit) {
  std::vector<UnitRange> runs = {{0, 0}};
  for (int64_t unit = 0; unit < stage.units; ++unit) {
    UnitRange& last = runs.back();
    if (last.begin < last.end && ParametersInUnits(stage, {last.begin, unit + 1}) > limit) {
      runs.push_back({unit, unit + 1});
    } else {
      last.end = unit + 1;
    }
  }
  return runs;
}

// The least limit of at most `most` that LongestRuns makes no more than `shards` runs for. `most`
// is such a limit.
uint64_t LeastLimit(const Stage& stage, size_t shards, uint64_t most) {
  uint64_t low = LargestUncut(stage);  // the least that may do
  uint64_t high = most;                // one that does
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (LongestRuns(stage, middle).size() <= shards) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

// The fewest runs of at most `limit` parameters, and of these the ones whose largest is smallest.
std::vector<UnitRange> EvenRuns(const Stage& stage, uint64_t limit) {
  const size_t fewest = LongestRuns(stage, limit).size();
  return LongestRuns(stage, LeastLimit(stage, fewest, limit));
}

// More than any plan could mean; keeps a hostile model from filling the memory with its chunks.
constexpr int64_t kMostChunks = 1'000'000;

class Cutter {
 public:
  Cutter(const StageList& stages, const ModelSpec& spec, const TrainingJob& job,
         const StreamPlan& plan)
      : job_(job),
        plan_(plan),
        rules_(RulesOf(job, plan)),
        link_bytes_(BytesOfParameter(job).link) {
    table_.stages = stages;
    table_.tied = spec.tied;
  }

  absl::StatusOr<ChunkTable> Cut() {
    first_differentiated_ = FirstDifferentiated(table_.stages);
    const int32_t last = static_cast<int32_t>(table_.stages.size()) - 1;
    ASSIGN_OR_RETURN(table_.embedding, AddTable(0));
    RETURN_IF_ERROR(AddLayers());
    table_.head = table_.embedding;
    if (!table_.tied) {
      ASSIGN_OR_RETURN(table_.head, AddTable(last));
    }
    MarkResident(job_, plan_, table_);
    for (int32_t c = 0; c < next_chunk(); ++c) {
      CountMomentAndNormBlocks(c);
      NumberRouters(table_.chunks[c]);
    }
    for (const Chunk& chunk : table_.chunks) {
      table_.parameters += chunk.parameters;
      table_.trained += chunk.trained;
    }
    return std::move(table_);
  }

 private:
  bool streams() const { return rules_.cuts_by_chunk_bytes; }

  // The shards a stage is cut into: the fewest that fit chunk_bytes each.
  absl::StatusOr<std::vector<UnitRange>> ShardsOf(const Stage& stage) {
    const uint64_t limit = (plan_.chunk_bytes / link_bytes_).value();
    if (!streams() || stage.parameters <= limit) return std::vector{UnitRange{0, stage.units}};
    const int64_t room = kMostChunks - next_chunk();
    const auto key = std::tuple(stage.kind, stage.parameters, stage.units);
    if (const auto known = shards_of_.find(key); known != shards_of_.end()) {
      if (static_cast<int64_t>(known->second.size()) > room) return TooManyChunks(stage);
      return known->second;
    }
    const bool may_be_cut = MayBeCut(stage, job_, plan_.keep_feed_forward);
    const uint64_t least = may_be_cut ? LargestUncut(stage) : stage.parameters;
    if (least > limit) {
      const std::string part =
          may_be_cut ? StrCat("the smallest part that ", stage.name, " can be cut into")
                     : StrCat(stage.name, ", which is not cut where ", WhyNotCut());
      return absl::FailedPreconditionError(
          StrCat("chunk_bytes ", WithCommas(plan_.chunk_bytes.value()), " cannot hold ", part,
                 ": set chunk_bytes to at least ", WithCommas((least * link_bytes_).value())));
    }
    if (!IsTable(stage)) return shards_of_[key] = EvenRuns(stage, limit);
    const int64_t shards = FewestEqualRanges(stage, limit);
    if (shards > room) return TooManyChunks(stage);
    return shards_of_[key] = EqualRanges(stage, shards);
  }

  std::string WhyNotCut() const {
    if (!plan_.keep_feed_forward) return "gate and up are not kept (keep_feed_forward false)";
    return StrCat("a micro-batch has more than ", WithCommas(job_.piece_tokens), " tokens");
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
      chunk.trained = TrainedInUnits(table_.stages[stage], ranges[i]);
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

  // Ends a chunk group: its chunks are all those since the last group.
  void CloseGroup() {
    const int32_t begin = table_.groups.empty() ? table_.layers.begin : table_.groups.back().end;
    if (begin == next_chunk()) return;
    for (int32_t c = begin; c < next_chunk(); ++c) {
      table_.chunks[c].group = static_cast<int32_t>(table_.groups.size());
    }
    table_.groups.push_back({begin, next_chunk()});
  }

  int32_t next_group() const { return static_cast<int32_t>(table_.groups.size()); }

  void CloseRecomputeBlock() {
    const int32_t first = table_.first_differentiated_group;
    const int32_t groups =
        table_.recompute_blocks.empty() ? first : table_.recompute_blocks.back().groups.end;
    const RecomputeBlock block{{table_.groups[groups].begin, next_chunk()}, {groups, next_group()}};
    for (int32_t c = block.chunks.begin; c < block.chunks.end; ++c) {
      table_.chunks[c].recompute_block = static_cast<int32_t>(table_.recompute_blocks.size());
    }
    table_.recompute_blocks.push_back(block);
  }

  // Packs stages [begin, end) into chunks, none of which crosses `end`.
  absl::Status AddStages(int32_t begin, int32_t end) {
    const uint64_t limit = (plan_.chunk_bytes / link_bytes_).value();
    bool open = false;  // the last chunk may take another stage
    for (int32_t s = begin; s < end; ++s) {
      const Stage& stage = table_.stages[s];
      ASSIGN_OR_RETURN(const std::vector<UnitRange> ranges, ShardsOf(stage));
      if (ranges.size() > 1) {
        CloseGroup();
        AddShards(s, ranges, {});
        CloseGroup();
        open = false;
        continue;
      }
      const bool joins =
          open && (!streams() || table_.chunks.back().parameters + stage.parameters <= limit);
      if (!joins) {
        CloseGroup();
        AddShards(s, ranges, {});
      } else {
        AddToLast(s);
      }
      open = true;
    }
    CloseGroup();
    return absl::OkStatus();
  }

  void AddToLast(int32_t stage) {
    table_.pieces.push_back({.stage = stage, .units = {0, table_.stages[stage].units}});
    table_.chunks.back().pieces.end = next_piece();
    table_.chunks.back().parameters += table_.stages[stage].parameters;
    table_.chunks.back().trained += table_.stages[stage].trained_parameters;
  }

  // A shard takes no second stage, and a chunk group is differentiated as a whole or not at all.
  void AddFinalNorm(int32_t stage) {
    if (table_.chunks.back().shards == 1 && first_differentiated_ != stage) {
      return AddToLast(stage);
    }
    if (first_differentiated_ == stage) table_.first_differentiated_group = next_group();
    AddShards(stage, {{0, table_.stages[stage].units}}, {});
    CloseGroup();
  }

  // A layer has two stages. Recompute blocks begin at multiples of `block_stages` from the begin of
  // a layer, and where backward ends.
  absl::Status AddLayers() {
    table_.layers.begin = next_chunk();
    const int32_t final_norm = static_cast<int32_t>(table_.stages.size()) - 2;
    const int32_t border = std::min(first_differentiated_, final_norm);
    const int64_t block_stages = 2 * plan_.anchor_interval;
    const int64_t run_stages = streams() ? block_stages : 2;
    RETURN_IF_ERROR(AddForwardOnly(border, run_stages));
    table_.first_differentiated_group = next_group();
    // The layer of the border, which may be its second stage.
    const int64_t first = static_cast<int64_t>((border - 1) / 2) * 2;
    for (int64_t run = first; run < final_norm - 1; run += run_stages) {
      const int64_t end = std::min<int64_t>(run + run_stages, final_norm - 1);
      RETURN_IF_ERROR(AddStages(static_cast<int32_t>(std::max<int64_t>(border, 1 + run)),
                                static_cast<int32_t>(1 + end)));
      const bool last = end == final_norm - 1;
      if (last) AddFinalNorm(final_norm);
      if (plan_.recompute && ((end - first) % block_stages == 0 || last)) CloseRecomputeBlock();
    }
    if (border == final_norm) AddOnlyFinalNorm(final_norm);
    table_.layers.end = next_chunk();
    if (!plan_.recompute) EachGroupIsARecomputeBlock();
    return absl::OkStatus();
  }

  // The stages before `border`: nothing is kept of them, so they have no recompute blocks. Their
  // chunks are as large as they would be if they were differentiated, and so are the slots of the
  // ring.
  absl::Status AddForwardOnly(int32_t border, int64_t run_stages) {
    for (int64_t run = 1; run < border; run += run_stages) {
      RETURN_IF_ERROR(AddStages(static_cast<int32_t>(run),
                                static_cast<int32_t>(std::min<int64_t>(run + run_stages, border))));
    }
    return absl::OkStatus();
  }

  // No layer is differentiated, and the final norm is or is not.
  void AddOnlyFinalNorm(int32_t stage) {
    AddFinalNorm(stage);
    const bool differentiated = first_differentiated_ == stage;
    if (!differentiated) table_.first_differentiated_group = next_group();
    if (differentiated && plan_.recompute) CloseRecomputeBlock();
  }

  void EachGroupIsARecomputeBlock() {
    for (int32_t group = table_.first_differentiated_group; group < next_group(); ++group) {
      table_.recompute_blocks.push_back({table_.groups[group], {group, group + 1}});
      for (int32_t c = table_.groups[group].begin; c < table_.groups[group].end; ++c) {
        table_.chunks[c].recompute_block = static_cast<int32_t>(table_.recompute_blocks.size()) - 1;
      }
    }
  }

  void CountMomentAndNormBlocks(int32_t c) {
    Chunk& chunk = table_.chunks[c];
    ForEachTrainedSlice(table_, c, [&](const TensorSlice& slice) {
      chunk.moment_blocks += (slice.count + kMomentBlock - 1) / kMomentBlock;
      chunk.norm_blocks += NormBlocksOf(slice);
    });
  }

  void NumberRouters(Chunk& chunk) {
    chunk.routers.begin = table_.routers;
    for (const ChunkPiece& piece : table_.PiecesOf(chunk)) {
      const Stage& stage = table_.stages[piece.stage];
      if (stage.kind != StageKind::kExperts || piece.units.begin > 0) continue;
      ++table_.routers;
      table_.experts = stage.units;
    }
    chunk.routers.end = table_.routers;
  }

  const TrainingJob& job_;
  const StreamPlan& plan_;
  const StrategyRules rules_;
  const Bytes link_bytes_;
  int32_t first_differentiated_ = 0;  // stage
  ChunkTable table_;
  std::map<std::tuple<StageKind, uint64_t, int64_t>, std::vector<UnitRange>> shards_of_;
};

}  // namespace

uint64_t LargestUncut(const Stage& stage) {
  if (IsTable(stage)) {
    return static_cast<uint64_t>(std::min(stage.unit_tile, stage.units)) *
           stage.parameters_per_unit;
  }
  uint64_t largest = 0;
  for (int64_t unit = 0; unit < stage.units; ++unit) {
    largest = std::max(largest, ParametersInUnits(stage, {unit, unit + 1}));
  }
  return largest;
}

bool MayBeCut(const Stage& stage, const TrainingJob& job, bool keep_feed_forward) {
  if (stage.kind != StageKind::kFeedForward) return true;
  return keep_feed_forward && job.micro_batch_tokens() <= job.piece_tokens;
}

uint64_t LargestOfShards(const Stage& stage, int64_t shards) {
  return LeastLimit(stage, static_cast<size_t>(std::max<int64_t>(1, shards)), stage.parameters);
}

Bytes LeastChunkBytes(const std::vector<Stage>& stages, const TrainingJob& job) {
  uint64_t least = 0;
  for (const Stage& stage : stages) {
    const bool may_be_cut = MayBeCut(stage, job, /*keep_feed_forward=*/true);
    least = std::max(least, may_be_cut ? LargestUncut(stage) : stage.parameters);
  }
  return least * BytesOfParameter(job).link;
}

int32_t ChunkTable::LargestRecomputeBlock() const {
  int32_t largest = 0;
  for (const RecomputeBlock& block : recompute_blocks)
    largest = std::max(largest, block.chunks.size());
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

absl::StatusOr<StageList> ListTrainedStages(const ModelSpec& spec, const TrainingJob& job) {
  std::vector<Stage> stages = ListStages(spec);
  RETURN_IF_ERROR(SelectTrained(spec, {.train = job.train, .freeze = job.freeze}, stages));
  return StageList(std::move(stages));
}

absl::StatusOr<ChunkTable> CutIntoChunks(const StageList& stages, const ModelSpec& spec,
                                         const TrainingJob& job, const StreamPlan& plan) {
  return Cutter(stages, spec, job, plan).Cut();
}

absl::StatusOr<ChunkTable> CutIntoChunks(const ModelSpec& spec, const TrainingJob& job,
                                         const StreamPlan& plan) {
  ASSIGN_OR_RETURN(const StageList stages, ListTrainedStages(spec, job));
  return CutIntoChunks(stages, spec, job, plan);
}

StageOptions StageOptionsOf(const TrainingJob& job, const StreamPlan& plan,
                            const ChunkTable& chunks) {
  StageOptions options = StageOptionsOf(job, plan);
  for (const ChunkPiece& piece : chunks.pieces) {
    if (chunks.stages[piece.stage].kind != StageKind::kExperts) continue;
    options.experts_in_chunk =
        std::max(options.experts_in_chunk, piece.units.end - piece.units.begin);
  }
  return options;
}

void MarkResident(const TrainingJob& job, const StreamPlan& plan, ChunkTable& chunks) {
  const StrategyRules rules = RulesOf(job, plan);
  for (Chunk& chunk : chunks.chunks) chunk.resident = rules.all_on_device;
  if (rules.all_on_device) return;
  const auto mark = [&](IndexRange range) {
    for (int32_t c = range.begin; c < range.end; ++c) chunks.chunks[c].resident = true;
  };
  if (plan.embedding_home == EmbeddingHome::kDevice) mark(chunks.embedding);
  if (rules.head_on_device) return mark(chunks.head);
  int64_t left = plan.resident_chunks;
  const auto take = [&](int32_t c) {
    if (left > 0 && !chunks.chunks[c].resident) {
      chunks.chunks[c].resident = true;
      --left;
    }
  };
  for (int32_t c = chunks.head.begin; c < chunks.head.end; ++c) take(c);
  for (int32_t c = chunks.layers.end - 1; c >= chunks.layers.begin; --c) take(c);
}

}  // namespace horizon
