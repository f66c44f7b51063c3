// The model cut into chunks: by hand, and what holds for every model and plan.
//
// Parameters of TinyModel (hidden 8, intermediate 16, one head of 8, vocabulary 32):
//   embedding and head 32 * 8 = 256 each, attention 8 + 4 * 64 = 264, feed-forward 8 + 3 * 128 =
//   392, so a layer 656; final norm 8. A parameter takes 2 bytes on the link (bf16 compute).
#include "schedule/chunk_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "common/text/str_cat.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

constexpr uint64_t kLink = 2;  // bytes of a parameter on the link
constexpr uint64_t kHuge = uint64_t{1} << 40;

StreamPlan PlanOf(uint64_t chunk_bytes, int64_t interval = 1) {
  StreamPlan plan;
  plan.chunk_bytes = Bytes(CheckedU64(chunk_bytes));
  plan.anchor_interval = interval;
  return plan;
}

ChunkTable Cut(const ModelSpec& spec, const StreamPlan& plan, const TrainingJob& job = {}) {
  absl::StatusOr<ChunkTable> table = CutIntoChunks(spec, job, plan);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *std::move(table) : ChunkTable();
}

// "embedding 256, attention_0..feed_forward_0 656 group 0 block 0, ...": a * marks resident chunks.
std::string Picture(const ChunkTable& table) {
  std::string text;
  for (int32_t c = 0; c < static_cast<int32_t>(table.chunks.size()); ++c) {
    const Chunk& chunk = table.chunks[c];
    text += StrCat(table.NameOf(c), chunk.resident ? "* " : " ", chunk.parameters);
    if (chunk.group >= 0) text += StrCat(" group ", chunk.group, " block ", chunk.recompute_block);
    text += "\n";
  }
  return text;
}

TEST(ChunkTable, OneLayerAChunkWhenBlocksAreLayers) {
  const ChunkTable table = Cut(TinyModel(2), PlanOf(kHuge));
  EXPECT_EQ(Picture(table),
            "embedding 256\n"
            "attention_0..feed_forward_0 656 group 0 block 0\n"
            "attention_1..final_norm 664 group 1 block 1\n"
            "head 256\n");
  EXPECT_EQ(table.embedding, (IndexRange{0, 1}));
  EXPECT_EQ(table.layers, (IndexRange{1, 3}));
  EXPECT_EQ(table.head, (IndexRange{3, 4}));
  EXPECT_FALSE(table.tied);
  EXPECT_EQ(table.parameters, 256u + 2 * 656 + 8 + 256);
  EXPECT_EQ(table.LargestRecomputeBlock(), 1);
}

// A block never shares a chunk with the next one, however much room there is.
TEST(ChunkTable, StagesPackWithinABlock) {
  EXPECT_EQ(Picture(Cut(TinyModel(4), PlanOf(kHuge, 2))),
            "embedding 256\n"
            "attention_0..feed_forward_1 1312 group 0 block 0\n"
            "attention_2..final_norm 1320 group 1 block 1\n"
            "head 256\n");
  // 920 parameters: a layer and an attention.
  EXPECT_EQ(Picture(Cut(TinyModel(3), PlanOf(kLink * 920, 3))),
            "embedding 256\n"
            "attention_0..attention_1 920 group 0 block 0\n"
            "feed_forward_1..attention_2 656 group 1 block 0\n"
            "feed_forward_2..final_norm 400 group 2 block 0\n"
            "head 256\n");
  // One byte less and the second attention has to go on its own way.
  EXPECT_EQ(Picture(Cut(TinyModel(2), PlanOf(kLink * 920 - 1, 2))),
            "embedding 256\n"
            "attention_0..feed_forward_0 656 group 0 block 0\n"
            "attention_1..final_norm 664 group 1 block 0\n"
            "head 256\n");
}

TEST(ChunkTable, ALastBlockMayBeShorter) {
  const ChunkTable table = Cut(TinyModel(3), PlanOf(kLink * 656, 2));
  ASSERT_EQ(table.recompute_blocks.size(), 2u);
  EXPECT_EQ(table.recompute_blocks[0].chunks, (IndexRange{1, 3}));
  EXPECT_EQ(table.recompute_blocks[0].groups, (IndexRange{0, 2}));
  EXPECT_EQ(table.recompute_blocks[1].chunks, (IndexRange{3, 4}));
  EXPECT_EQ(table.recompute_blocks[1].groups, (IndexRange{2, 3}));
  EXPECT_EQ(table.LargestRecomputeBlock(), 2);
}

TEST(ChunkTable, Fp32ComputeMovesTwiceTheBytes) {
  TrainingJob job;
  job.compute_type = NumberType::kFp32;
  EXPECT_EQ(Picture(Cut(TinyModel(1), PlanOf(2 * kLink * 656), job)),
            Picture(Cut(TinyModel(1), PlanOf(kLink * 656))));
  EXPECT_EQ(Cut(TinyModel(1), PlanOf(2 * kLink * 392)).chunks.size(), 3u);
  EXPECT_EQ(Cut(TinyModel(1), PlanOf(2 * kLink * 392), job).chunks.size(), 4u);
}

// Vocabulary 1200 = tiles of 512, 512 and 176 rows of 8. Gate, up and down have 8 * 384 = 3072
// parameters each; the norm's 8 belong to the first. 4096 parameters fit.
TEST(ChunkTable, LargeStagesAreCutIntoShards) {
  ModelSpec spec = TinyModel(1);
  spec.vocab = 1200;
  spec.intermediate = 384;
  const ChunkTable table = Cut(spec, PlanOf(kLink * 4096));
  EXPECT_EQ(Picture(table),
            "embedding shard 1/3 4096\n"
            "embedding shard 2/3 4096\n"
            "embedding shard 3/3 1408\n"
            "attention_0 264 group 0 block 0\n"
            "feed_forward_0 shard 1/3 3080 group 1 block 0\n"
            "feed_forward_0 shard 2/3 3072 group 1 block 0\n"
            "feed_forward_0 shard 3/3 3072 group 1 block 0\n"
            "final_norm 8 group 2 block 0\n"
            "head shard 1/3 4096\n"
            "head shard 2/3 4096\n"
            "head shard 3/3 1408\n");
  EXPECT_EQ(table.groups.size(), 3u);
  EXPECT_EQ(table.groups[1], (IndexRange{4, 7}));
  EXPECT_EQ(table.PiecesOf(table.chunks[2]).front().units, (UnitRange{1024, 1200}));
}

// The fewest shards that fit: gate with the norm and up do not, up and down do.
TEST(ChunkTable, NoMoreShardsThanNeeded) {
  ModelSpec spec = TinyModel(1);
  spec.intermediate = 384;
  EXPECT_EQ(Picture(Cut(spec, PlanOf(kLink * 6144))),
            "embedding 256\n"
            "attention_0 264 group 0 block 0\n"
            "feed_forward_0 shard 1/2 3080 group 1 block 0\n"
            "feed_forward_0 shard 2/2 6144 group 1 block 0\n"
            "final_norm 8 group 2 block 0\n"
            "head 256\n");
}

std::string ShardSizes(int64_t intermediate, uint64_t most_parameters) {
  ModelSpec spec = TinyModel(1);
  spec.intermediate = intermediate;
  std::string sizes;
  for (const Chunk& chunk : Cut(spec, PlanOf(kLink * most_parameters)).chunks) {
    if (chunk.shards > 1) sizes += StrCat(sizes.empty() ? "" : " ", chunk.parameters);
  }
  return sizes;
}

// Each matrix has 8 parameters for each channel, the norm 8 more, and goes with the gate.
TEST(ChunkTable, EveryShardFits) {
  EXPECT_EQ(ShardSizes(384, 9223), "3080 6144");
  EXPECT_EQ(ShardSizes(384, 6144), "3080 6144");
  EXPECT_EQ(ShardSizes(384, 6143), "3080 3072 3072");
  EXPECT_EQ(ShardSizes(520, 8328), "4168 8320");
  EXPECT_EQ(ShardSizes(520, 4168), "4168 4160 4160");
}

// q and o have 64 * 8 parameters, k and v 16 * 8 each: of the cuts in two the one after k has the
// smaller larger half, though more would fit into the first.
TEST(ChunkTable, ShardsAreAsEvenAsMatricesAllow) {
  ModelSpec spec = TinyModel(1);
  spec.heads = 8;
  spec.kv_heads = 2;
  const std::string even =
      "embedding 256\n"
      "attention_0 shard 1/2 648 group 0 block 0\n"
      "attention_0 shard 2/2 640 group 0 block 0\n"
      "feed_forward_0..final_norm 400 group 1 block 0\n"
      "head 256\n";
  EXPECT_EQ(Picture(Cut(spec, PlanOf(kLink * 700))), even);
  EXPECT_EQ(Picture(Cut(spec, PlanOf(kLink * 648))), even);
  EXPECT_EQ(Picture(Cut(spec, PlanOf(kLink * 647))),
            "embedding 256\n"
            "attention_0 shard 1/3 520 group 0 block 0\n"
            "attention_0 shard 2/3 256 group 0 block 0\n"
            "attention_0 shard 3/3 512 group 0 block 0\n"
            "feed_forward_0..final_norm 400 group 1 block 0\n"
            "head 256\n");
}

TEST(ChunkTable, ExpertsAreCutBetweenExperts) {
  ModelSpec spec = TinyModel(1);
  spec.family = "mixtral";
  spec.experts = {.experts = 4, .experts_per_token = 2, .intermediate = 16};
  spec.layers[0].has_experts = true;
  // Norm 8, router 4 * 8, and 3 * 128 for each expert: two experts fit beside norm and router.
  EXPECT_EQ(Picture(Cut(spec, PlanOf(kLink * (40 + 768)))),
            "embedding 256\n"
            "attention_0 264 group 0 block 0\n"
            "experts_0 shard 1/2 808 group 1 block 0\n"
            "experts_0 shard 2/2 768 group 1 block 0\n"
            "final_norm 8 group 2 block 0\n"
            "head 256\n");
}

TEST(ChunkTable, ATiedTableIsOneRangeOfChunks) {
  ModelSpec spec = TinyModel(1);
  spec.tied = true;
  const ChunkTable table = Cut(spec, PlanOf(kHuge));
  EXPECT_EQ(Picture(table), "embedding 256\nattention_0..final_norm 664 group 0 block 0\n");
  EXPECT_TRUE(table.tied);
  EXPECT_EQ(table.head, table.embedding);
  EXPECT_EQ(table.parameters, 256u + 664);
}

TEST(ChunkTable, WithoutRecomputeAChunkHoldsNoMoreLayersThanABlockWould) {
  StreamPlan plan = PlanOf(kHuge, 1);
  plan.recompute = false;
  EXPECT_EQ(Picture(Cut(TinyModel(2), plan)),
            "embedding 256\n"
            "attention_0..feed_forward_0 656 group 0 block 0\n"
            "attention_1..final_norm 664 group 1 block 1\n"
            "head 256\n");
  plan = PlanOf(kLink * 1312, 4);
  plan.recompute = false;
  EXPECT_EQ(Picture(Cut(TinyModel(4), plan)),
            "embedding 256\n"
            "attention_0..feed_forward_1 1312 group 0 block 0\n"
            "attention_2..final_norm 1320 group 1 block 1\n"
            "head 256\n");
}

// Slots of the ring are as large as the largest chunk, so what is only forwarded must not be packed
// into larger ones.
TEST(ChunkTable, AChunkBelowTheLowestTrainedTensorHoldsNoMoreLayersThanABlockWould) {
  TrainingJob job;
  job.train = {"model.layers.3.*"};
  StreamPlan plan = PlanOf(kHuge, 1);
  for (const bool recompute : {true, false}) {
    plan.recompute = recompute;
    EXPECT_EQ(Picture(Cut(TinyModel(5), plan, job)),
              "embedding 256\n"
              "attention_0..feed_forward_0 656 group 0 block -1\n"
              "attention_1..feed_forward_1 656 group 1 block -1\n"
              "attention_2..feed_forward_2 656 group 2 block -1\n"
              "attention_3..feed_forward_3 656 group 3 block 0\n"
              "attention_4..final_norm 664 group 4 block 1\n"
              "head 256\n");
  }
  EXPECT_EQ(Picture(Cut(TinyModel(5), PlanOf(kHuge, 2), job)),
            "embedding 256\n"
            "attention_0..feed_forward_1 1312 group 0 block -1\n"
            "attention_2..feed_forward_2 656 group 1 block -1\n"
            "attention_3..final_norm 1320 group 2 block 0\n"
            "head 256\n");
}

TEST(ChunkTable, ResidentChunksAreTheHeadThenLayersFromTheLast) {
  StreamPlan plan = PlanOf(kHuge);
  const auto resident = [&](int64_t count) {
    plan.resident_chunks = count;
    std::string marks;
    for (const Chunk& chunk : Cut(TinyModel(3), plan).chunks) marks += chunk.resident ? '*' : '.';
    return marks;
  };
  EXPECT_EQ(resident(0), ".....");
  EXPECT_EQ(resident(1), "....*");
  EXPECT_EQ(resident(2), "...**");
  EXPECT_EQ(resident(4), ".****");
  EXPECT_EQ(resident(99), ".****");              // the embedding stays on the host
  plan.embedding_home = EmbeddingHome::kDevice;  // not counted among the resident chunks
  EXPECT_EQ(resident(0), "*....");
  EXPECT_EQ(resident(2), "*..**");
}

TEST(ChunkTable, ATiedTableOnTheDeviceIsNotCountedTwice) {
  ModelSpec spec = TinyModel(2);
  spec.tied = true;
  StreamPlan plan = PlanOf(kHuge);
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.resident_chunks = 1;
  EXPECT_EQ(Picture(Cut(spec, plan)),
            "embedding* 256\n"
            "attention_0..feed_forward_0 656 group 0 block 0\n"
            "attention_1..final_norm* 664 group 1 block 1\n");
}

TEST(ChunkTable, OtherStrategiesTakeOneLayerAChunkWhateverItsSize) {
  StreamPlan plan = PlanOf(1, 2);  // chunk_bytes is not theirs
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  EXPECT_EQ(Picture(Cut(TinyModel(3), plan)),
            "embedding* 256\n"
            "attention_0..feed_forward_0 656 group 0 block 0\n"
            "attention_1..feed_forward_1 656 group 1 block 0\n"
            "attention_2..final_norm 664 group 2 block 1\n"
            "head* 256\n");
  plan.strategy = Strategy::kResident;
  EXPECT_EQ(Picture(Cut(TinyModel(3), plan)),
            "embedding* 256\n"
            "attention_0..feed_forward_0* 656 group 0 block 0\n"
            "attention_1..feed_forward_1* 656 group 1 block 0\n"
            "attention_2..final_norm* 664 group 2 block 1\n"
            "head* 256\n");
}

// The smallest shard of the feed-forward part is the gate's matrix with the norm: 8 * 256 + 8.
TEST(ChunkTable, ImpossibleChunkBytesNameTheStageAndANumberThatWorks) {
  ModelSpec spec = TinyModel(2);
  spec.intermediate = 256;
  const absl::StatusOr<ChunkTable> table = CutIntoChunks(spec, {}, PlanOf(kLink * 2056 - 1));
  EXPECT_EQ(table.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(table.status().message(),
            "chunk_bytes 4,111 cannot hold the smallest part that feed_forward_0 can be cut into: "
            "set chunk_bytes to at least 4,112");
  EXPECT_TRUE(CutIntoChunks(spec, {}, PlanOf(kLink * 2056)).ok());
  EXPECT_EQ(CutIntoChunks(spec, {}, PlanOf(1)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// The number after "at least", without its commas.
uint64_t SuggestedBytes(const absl::Status& status) {
  const std::string message(status.message());
  std::string digits;
  for (const char c : message.substr(message.rfind("at least "))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  return std::stoull(digits);
}

// Follows the advice of refusals until the plan is possible: each must help.
RC_GTEST_PROP(ChunkTable, FollowingTheAdviceEndsWithAPlanThatWorks, ()) {
  RandomCase random = *RandomHorizonCase();
  random.plan.chunk_bytes = 1_B;
  std::set<std::string> refused;
  for (int i = 0; i < 5; ++i) {
    const absl::StatusOr<ChunkTable> table = CutIntoChunks(random.spec, random.job, random.plan);
    if (table.ok()) return;
    RC_ASSERT(table.status().code() == absl::StatusCode::kFailedPrecondition);
    const uint64_t bytes = SuggestedBytes(table.status());
    RC_ASSERT(bytes > random.plan.chunk_bytes.value());
    random.plan.chunk_bytes = Bytes(CheckedU64(bytes));
  }
  RC_FAIL("five kinds of stages, and more than five refusals");
}

void CheckUnitsOnce(const ChunkTable& table) {
  std::map<int32_t, int64_t> next_unit;  // by stage: where its next piece has to begin
  for (const ChunkPiece& piece : table.pieces) {
    RC_ASSERT(piece.units.begin == next_unit[piece.stage]);
    RC_ASSERT(piece.units.end > piece.units.begin);
    const Stage& stage = table.stages[piece.stage];
    RC_ASSERT(piece.units.end % stage.unit_tile == 0 || piece.units.end == stage.units);
    next_unit[piece.stage] = piece.units.end;
  }
  for (int32_t s = 0; s < static_cast<int32_t>(table.stages.size()); ++s) {
    const bool is_tied_head = table.tied && table.stages[s].kind == StageKind::kHead;
    RC_ASSERT(next_unit[s] == (is_tied_head ? 0 : table.stages[s].units));
  }
  RC_ASSERT(table.parameters == CountParameters(table.stages).total);
}

void CheckRuns(const ChunkTable& table) {
  int32_t next_chunk = table.layers.begin;
  for (int32_t group = 0; group < static_cast<int32_t>(table.groups.size()); ++group) {
    const IndexRange chunks = table.groups[group];
    RC_ASSERT(chunks.begin == next_chunk && chunks.size() > 0);
    for (int32_t c = chunks.begin; c < chunks.end; ++c) {
      RC_ASSERT(table.chunks[c].group == group);
      RC_ASSERT(table.chunks[c].shard == c - chunks.begin);
      RC_ASSERT(table.chunks[c].shards == chunks.size());
    }
    next_chunk = chunks.end;
  }
  RC_ASSERT(next_chunk == table.layers.end);
  RecomputeBlock last{{table.layers.begin, table.layers.begin}, {0, 0}};
  for (int32_t b = 0; b < static_cast<int32_t>(table.recompute_blocks.size()); ++b) {
    const RecomputeBlock& block = table.recompute_blocks[b];
    RC_ASSERT(block.chunks.begin == last.chunks.end && block.groups.begin == last.groups.end);
    RC_ASSERT(block.chunks.begin == table.groups[block.groups.begin].begin);
    RC_ASSERT(block.chunks.end == table.groups[block.groups.end - 1].end);
    for (int32_t c = block.chunks.begin; c < block.chunks.end; ++c) {
      RC_ASSERT(table.chunks[c].recompute_block == b);
    }
    last = block;
  }
  RC_ASSERT(last.chunks.end == table.layers.end);
}

void CheckBlocksHoldTheirLayers(const ChunkTable& table, int64_t interval) {
  for (int64_t b = 0; b < static_cast<int64_t>(table.recompute_blocks.size()); ++b) {
    const IndexRange chunks = table.recompute_blocks[b].chunks;
    for (int32_t c = chunks.begin; c < chunks.end; ++c) {
      for (const ChunkPiece& piece : table.PiecesOf(table.chunks[c])) {
        const int64_t layer = table.stages[piece.stage].layer;
        RC_ASSERT(layer < 0 || layer / interval == b);
      }
    }
  }
}

void CheckSizesAndNames(const ChunkTable& table, uint64_t most_parameters) {
  std::set<std::string> names;
  for (int32_t c = 0; c < static_cast<int32_t>(table.chunks.size()); ++c) {
    const Chunk& chunk = table.chunks[c];
    uint64_t parameters = 0;
    uint64_t norm = 0;
    for (const ChunkPiece& piece : table.PiecesOf(chunk)) {
      const uint64_t here = ParametersInUnits(table.stages[piece.stage], piece.units);
      parameters += here;
      if (table.stages[piece.stage].kind == StageKind::kFinalNorm) norm = here;
    }
    RC_ASSERT(chunk.parameters == parameters);
    RC_ASSERT(parameters - norm <= most_parameters);
    RC_ASSERT(names.insert(table.NameOf(c)).second);
    const bool is_layer = table.layers.contains(c);
    RC_ASSERT(is_layer == (chunk.group >= 0) && is_layer == (chunk.recompute_block >= 0));
    RC_ASSERT(is_layer != (table.embedding.contains(c) || table.head.contains(c)));
  }
}

RC_GTEST_PROP(ChunkTable, EveryUnitIsInExactlyOneChunk, ()) {
  const RandomCase random = *RandomAnyCase();
  const absl::StatusOr<ChunkTable> table = CutIntoChunks(random.spec, random.job, random.plan);
  if (!table.ok()) RC_DISCARD("impossible plan");
  CheckUnitsOnce(*table);
  CheckRuns(*table);
  const bool horizon = random.plan.strategy == Strategy::kHorizon;
  CheckSizesAndNames(
      *table,
      horizon ? (random.plan.chunk_bytes / BytesOfParameter(random.job).link).value() : UINT64_MAX);
  if (random.plan.recompute) CheckBlocksHoldTheirLayers(*table, random.plan.anchor_interval);
}

}  // namespace
}  // namespace horizon
