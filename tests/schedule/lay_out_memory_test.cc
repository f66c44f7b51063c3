// Bytes by hand, and the promises about them.
#include "schedule/lay_out_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "model/stage_work.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

MemoryLayout LayOut(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                    PassKind kind = PassKind::kTrain) {
  absl::StatusOr<MemoryLayout> layout = LayOutMemory(spec, job, plan, kind);
  EXPECT_TRUE(layout.ok()) << layout.status();
  return layout.ok() ? *std::move(layout) : MemoryLayout();
}

uint64_t BytesOf(const MemoryLayout& layout, std::initializer_list<BufferKind> kinds) {
  uint64_t bytes = 0;
  for (const Buffer& buffer : layout.buffers) {
    if (std::find(kinds.begin(), kinds.end(), buffer.kind) != kinds.end())
      bytes += buffer.bytes.value();
  }
  return bytes;
}

uint64_t DeviceBytes(const MemoryLayout& layout) {
  return layout.totals[static_cast<size_t>(Memory::kDevice)].value();
}

// "device ring_slot 2 x 2656": kinds in the order of their first buffer.
std::string Picture(const MemoryLayout& layout) {
  std::string text;
  for (size_t i = 0; i < layout.buffers.size();) {
    const Buffer& buffer = layout.buffers[i];
    size_t end = i;
    while (end < layout.buffers.size() && layout.buffers[end].kind == buffer.kind &&
           layout.buffers[end].bytes == buffer.bytes) {
      ++end;
    }
    text += StrCat(ToString(buffer.memory), " ", ToString(buffer.kind), " ", end - i, " x ",
                   buffer.bytes.value(), "\n");
    i = end;
  }
  return text;
}

TrainingJob SmallJob() {
  TrainingJob job;
  job.sequence = 16;
  return job;
}

// Two layers, one a chunk: parameters 256 (embedding), 656, 664 (with the final norm), 256 (head).
// 16 tokens of hidden size 8 in fp32 are 512 bytes. The first block has an anchor, the last one
// keeps its activations. The embedding stays on the host, so three chunks stream.
// Kept activations of a chunk, in values a token: attention 8 (input) + 1 + 8 + 16 + 8 + 1 = 42,
// feed-forward 8 + 1 + 32 = 41, final norm 8 + 1: at most 92 * 16 * 4 = 5888 bytes. Feed-forward
// works in 8 + 3 * 16 + 1 values a token: 3648 bytes.
TEST(LayOutMemory, EveryBufferOfATinyStep) {
  const ModelSpec spec = TinyModel(2);
  EXPECT_EQ(Picture(LayOut(spec, SmallJob(), {})),
            StrCat("pinned weights_hi 1 x 512\n"
                   "pinned weights_hi 1 x 1312\n"
                   "pinned weights_hi 1 x 1328\n"
                   "pinned weights_hi 1 x 512\n"
                   "host weights_lo 1 x 512\n"
                   "host weights_lo 1 x 1312\n"
                   "host weights_lo 1 x 1328\n"
                   "host weights_lo 1 x 512\n"
                   "device ring_slot 2 x 2656\n"  // fp32 slots on device `host`
                   "pinned tokens_pinned 1 x 320\n"
                   "device tokens 1 x 320\n"
                   "pinned embedding_rows 1 x 512\n"
                   "pinned row_gradients 1 x 512\n"
                   "device residual 2 x 512\n"
                   "device logits 1 x 2240\n"  // 16 tokens x (32 words x 4 + 12)
                   "device loss 1 x 16\n"
                   "device head_gradient 1 x 1024\n"
                   "pinned loss_pinned 1 x 16\n"
                   "device workspace 1 x 3072\n"        // 16 tokens x 192 of attention's backward
                   "device tile_scratch 1 x 2097152\n"  // one compute thread
                   "device rotary_table 1 x 512\n"      // 16 positions x 8 values
                   "host moments 1 x 2048\n"
                   "host moments 1 x 5248\n"
                   "host moments 1 x 5312\n"
                   "host moments 1 x 2048\n"
                   "device residual_gradient 2 x 512\n"
                   "device gradient 2 x 1328\n"
                   "pinned gradient_slab 2 x 1328\n"
                   "pinned kept_gradient 1 x 512\n"
                   "pinned kept_gradient 1 x 1312\n"
                   "pinned kept_gradient 1 x 1328\n"
                   "pinned kept_gradient 1 x 512\n"
                   "host norm_partials 1 x 8\n"  // one a tensor
                   "host norm_partials 1 x 72\n"
                   "host norm_partials 1 x 80\n"
                   "host norm_partials 1 x 8\n"
                   "host clip_factor 1 x 16\n"
                   "device anchor 1 x 512\n"
                   "device activations 1 x 5888\n"));
}

// On cuda slots and activations are bf16; anchors that wait on the host need two stages.
TEST(LayOutMemory, CudaTypesAndAnchorsOnTheHost) {
  TrainingJob job = SmallJob();
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  StreamPlan plan;
  plan.anchor_home = AnchorHome::kHost;
  plan.buffer_depth = 9;  // no more slots than chunks that stream
  const MemoryLayout layout = LayOut(TinyModel(4), job, plan);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kRingSlot}), 5u * 664 * 2);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kAnchor}), 3u * 256);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kAnchorStage}), 2u * 256);
  // 92 values for each of 16 tokens, 4 of them scalars: two inverse rms, one log-sum-exp, and that
  // of the final norm.
  EXPECT_EQ(BytesOf(layout, {BufferKind::kActivations}), 16u * (88 * 2 + 4 * 4));
  for (const Buffer& buffer : layout.buffers) {
    const bool anchor = buffer.kind == BufferKind::kAnchor;
    EXPECT_TRUE(!anchor || buffer.memory == Memory::kPinned);
  }
}

// A layer's keys and values: 2 x 16 positions x 8 x 4 bytes; a window keeps no more than it sees.
TEST(LayOutMemory, KeysAndValuesOfADecodePass) {
  ModelSpec spec = TinyModel(2);
  spec.layers[1].sliding_window = 4;
  const MemoryLayout layout = LayOut(spec, SmallJob(), {}, PassKind::kDecode);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kKvCache}), 1024u + 256u);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kLogits}), 32u * 4);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kMoments, BufferKind::kWeightsLo}), 0u);
}

// What lasts on the host for each parameter, times the number of parameters.
uint64_t StateBytes(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  return BytesOf(LayOut(spec, job, plan), {BufferKind::kWeightsHi, BufferKind::kWeightsLo,
                                           BufferKind::kMoments, BufferKind::kKeptGradient});
}

ModelSpec MiddleModel() {
  ModelSpec spec = TinyModel(3);
  spec.hidden = 64;
  spec.intermediate = 256;
  spec.heads = spec.kv_heads = 8;
  spec.vocab = 1024;
  return spec;
}

TEST(LayOutMemory, BytesAParameterAreThoseOfTheDesign) {
  const ModelSpec spec = MiddleModel();
  const uint64_t parameters = CountParameters(ListStages(spec)).total;
  for (const OptimizerPlace place : {OptimizerPlace::kBehindForward, OptimizerPlace::kAfterStep}) {
    TrainingJob job = SmallJob();
    job.optimizer_place = place;
    EXPECT_EQ(StateBytes(spec, job, {}), (12 + 2) * parameters);
    job.gradient_type = NumberType::kFp32;
    EXPECT_EQ(StateBytes(spec, job, {}), (12 + 4) * parameters);
    job.gradient_type = NumberType::kBf16;
    job.accumulation = 2;  // kept gradients are bf16 only where nothing is added to them
    EXPECT_EQ(StateBytes(spec, job, {}), (12 + 4) * parameters);
    job.accumulation = 1;
    job.state_format = StateFormat::kBf16Moments;
    EXPECT_EQ(StateBytes(spec, job, {}), (8 + 2) * parameters);
    job.state_format = StateFormat::kBf16Weights;
    EXPECT_EQ(StateBytes(spec, job, {}), (10 + 2) * parameters);
    job.state_format = StateFormat::k8BitMoments;  // and two fp32 scales for every 256
    const uint64_t scaled = StateBytes(spec, job, {}) - (6 + 2) * parameters;
    EXPECT_GE(scaled, 8 * parameters / 256);
    EXPECT_LE(scaled,
              8 * parameters / 256 + uint64_t{8} * 30);  // 8 for a shorter block of each tensor
  }
}

TEST(LayOutMemory, InBackwardKeepsNoGradientsExceptOfATableThatCollectsThem) {
  ModelSpec spec = MiddleModel();
  const uint64_t parameters = CountParameters(ListStages(spec)).total;
  const uint64_t table = uint64_t{1024} * 64;
  TrainingJob job = SmallJob();
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  StreamPlan plan;
  plan.embedding_home = EmbeddingHome::kStreamed;
  EXPECT_EQ(StateBytes(spec, job, plan), 12 * parameters);
  plan.embedding_home = EmbeddingHome::kHost;  // rows are scattered into it
  EXPECT_EQ(StateBytes(spec, job, plan), 12 * parameters + 2 * table);
  plan.embedding_home = EmbeddingHome::kStreamed;
  spec.tied = true;  // two uses, one update
  EXPECT_EQ(StateBytes(spec, job, plan), 12 * (parameters - table) + 2 * table);
}

TEST(LayOutMemory, DeviceBytesDoNotGrowWithDepthWhenAnchorsAreOnTheHost) {
  StreamPlan plan;
  plan.anchor_home = AnchorHome::kHost;
  EXPECT_EQ(DeviceBytes(LayOut(TinyModel(4), SmallJob(), plan)),
            DeviceBytes(LayOut(TinyModel(96), SmallJob(), plan)));
  plan.anchor_home = AnchorHome::kDevice;
  EXPECT_EQ(DeviceBytes(LayOut(TinyModel(96), SmallJob(), plan)) -
                DeviceBytes(LayOut(TinyModel(4), SmallJob(), plan)),
            92u * 512);  // an anchor a layer
}

// The resident strategy holds all state on the device and streams nothing.
TEST(LayOutMemory, ResidentNeedsNothingOfTheHostButInputsLossesAndNorms) {
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  const MemoryLayout layout = LayOut(TinyModel(2), SmallJob(), plan);
  EXPECT_EQ(layout.totals[static_cast<size_t>(Memory::kHost)], kClipFactorBytes);
  EXPECT_EQ(BytesOf(layout, {BufferKind::kRingSlot, BufferKind::kGradientSlab}), 0u);
  // 16 tokens, the loss, and the squared norms of 4 chunks, each where a buffer may begin.
  EXPECT_EQ(layout.totals[static_cast<size_t>(Memory::kPinned)], Bytes(512u + 256 + 3 * 256 + 8));
}

// The published formula, P counting parameters: 2 N weights, 8 N moments, 2 N gradients,
// 2 (slabs + 2) P_layer of pinned slabs (two of them for packing) and 2 (P_head + P_embed).
TEST(LayOutMemory, HostBytesOfReferenceAreThoseOfThePublishedSystem) {
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(*MakePosixIo(), "qwen2.5-7b");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelSpec& spec = config->spec;
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.state_format = StateFormat::kBf16Weights;
  job.gradient_type = NumberType::kBf16;
  job.activation_type = NumberType::kBf16;
  job.optimizer_place = OptimizerPlace::kAfterStep;
  job.sequence = 1024;
  job.micro_batch = 4;
  StreamPlan plan;
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.buffer_depth = 2;
  plan.gradient_slabs = 12;
  plan.anchor_interval = 4;
  const MemoryLayout layout = LayOut(spec, job, plan);

  std::map<StageKind, uint64_t> largest;
  for (const Stage& stage : ListStages(spec)) {
    largest[stage.kind] = std::max(largest[stage.kind], stage.parameters);
  }
  const uint64_t all = CountParameters(ListStages(spec)).total;
  const uint64_t layer = largest[StageKind::kAttention] + largest[StageKind::kFeedForward];
  const uint64_t tables = largest[StageKind::kHead] + largest[StageKind::kEmbedding];
  ASSERT_EQ(all, 7615616512u);
  const uint64_t slabs = 12 + 2;  // of gradients, and for packing
  const uint64_t published = (2 + 8 + 2) * all + slabs * 2 * layer + 2 * tables;

  // The final norm rides with the last layer, so every slab has room for it.
  const uint64_t norm_room = slabs * 2 * largest[StageKind::kFinalNorm];
  const uint64_t small = BytesOf(layout, {BufferKind::kTokensPinned, BufferKind::kLossPinned,
                                          BufferKind::kNormPartials, BufferKind::kClipFactor});
  uint64_t holes = 0;
  MemoryTotals ends{};
  for (const Buffer& buffer : layout.buffers) {
    Bytes& end = ends[static_cast<size_t>(buffer.memory)];
    if (buffer.memory != Memory::kDevice) holes += buffer.offset - end.value();
    end = Bytes(buffer.offset) + buffer.bytes;
  }
  const Bytes host = layout.totals[static_cast<size_t>(Memory::kPinned)] +
                     layout.totals[static_cast<size_t>(Memory::kHost)];
  EXPECT_EQ(host, Bytes(published + norm_room + small + holes));
  EXPECT_LT(norm_room + small + holes, 2u << 20);  // of 98 GB
  // The pool is for layers; each table has a slab of its own.
  EXPECT_EQ(BytesOf(layout, {BufferKind::kTableSlab}), 2 * tables);
}

// Tied, there is one table and one slab for it.
TEST(LayOutMemory, ReferenceHasASlabForEachTable) {
  TrainingJob job = SmallJob();
  job.optimizer_place = OptimizerPlace::kAfterStep;
  StreamPlan plan;
  plan.strategy = Strategy::kReference;
  plan.embedding_home = EmbeddingHome::kDevice;
  ModelSpec spec = TinyModel(2);
  spec.vocab = 1000;  // tables larger than layers
  const MemoryLayout untied = LayOut(spec, job, plan);
  EXPECT_EQ(BytesOf(untied, {BufferKind::kTableSlab}), 2u * 8000 * 2);
  EXPECT_EQ(BytesOf(untied, {BufferKind::kGradientSlab}), 2u * 664 * 2);
  EXPECT_EQ(BytesOf(untied, {BufferKind::kStagingBuffer}), 2u * 664 * 2);
  spec.tied = true;
  EXPECT_EQ(BytesOf(LayOut(spec, job, plan), {BufferKind::kTableSlab}), 8000u * 2);
  // `horizon` sends everything through the pool.
  EXPECT_EQ(BytesOf(LayOut(spec, job, {}), {BufferKind::kTableSlab}), 0u);
}

RC_GTEST_PROP(LayOutMemory, BuffersLieOneBehindAnotherUpToTheTotals, ()) {
  const RandomCase random = *RandomAnyCase();
  const PassKind kind = *rc::gen::element(PassKind::kTrain, PassKind::kEvaluate, PassKind::kPrefill,
                                          PassKind::kDecode);
  const absl::StatusOr<MemoryLayout> layout =
      LayOutMemory(random.spec, random.job, random.plan, kind);
  if (!layout.ok()) RC_DISCARD("impossible plan");
  MemoryTotals ends{};
  for (const Buffer& buffer : layout->buffers) {
    Bytes& end = ends[static_cast<size_t>(buffer.memory)];
    RC_ASSERT(buffer.bytes > 0_B);
    RC_ASSERT(buffer.offset % kBufferAlignment == 0u);
    RC_ASSERT(buffer.offset >= end.value() && buffer.offset - end.value() < kBufferAlignment);
    end = Bytes(buffer.offset) + buffer.bytes;
  }
  RC_ASSERT(ends == layout->totals);
}

// --- refusals ---

absl::Status RefusalOf(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  return LayOutMemory(spec, job, plan).status();
}

TEST(LayOutMemory, WorkBeyond64BitsIsRefused) {
  ModelSpec spec = TinyModel(1);
  spec.hidden = spec.intermediate = 1 << 20;
  spec.max_positions = 1 << 24;
  TrainingJob job;
  job.sequence = 1 << 24;
  StreamPlan plan;
  plan.chunk_bytes = Bytes(CheckedU64(1'000'000'000'000'000'000));
  const absl::Status status = RefusalOf(spec, job, plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(status.message().find("more work than 64-bit counts hold: lower one of them"),
            absl::string_view::npos)
      << status;
}

TEST(LayOutMemory, MoreOperationsThanAnyoneCanWaitForAreRefused) {
  TrainingJob job = SmallJob();
  job.accumulation = 1 << 16;
  const absl::Status many = RefusalOf(TinyModel(100), job, {});
  EXPECT_EQ(many.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(many.message().find("a step of 102 chunks, 65536 micro-batches"),
            absl::string_view::npos)
      << many;
  EXPECT_NE(many.message().find("lower accumulation"), absl::string_view::npos) << many;
  // So are loss chunks.
  job = SmallJob();
  job.sequence = 4096;
  job.micro_batch = 1 << 20;
  StreamPlan plan;
  plan.loss_chunk_tokens = 128;
  const absl::Status chunks = RefusalOf(TinyModel(1), job, plan);
  EXPECT_EQ(chunks.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(chunks.message().find("33554432 loss chunks"), absl::string_view::npos) << chunks;
}

// A vocabulary no file should be believed.
TEST(LayOutMemory, AHugeModelIsRefusedBeforeItsChunksAreListed) {
  ModelSpec spec = TinyModel(1);
  spec.vocab = int64_t{1} << 56;
  const absl::Status impossible = RefusalOf(spec, SmallJob(), {});
  EXPECT_EQ(impossible.code(), absl::StatusCode::kInvalidArgument) << impossible;
  // The largest that a spec may have: its four million shards of one tile are not listed.
  spec.vocab = (int64_t{1} << 31) - 1;
  StreamPlan plan;
  plan.chunk_bytes = Bytes(CheckedU64(8192));
  const absl::Status shards = RefusalOf(spec, SmallJob(), plan);
  EXPECT_EQ(shards.code(), absl::StatusCode::kFailedPrecondition) << shards;
  EXPECT_NE(shards.message().find("embedding"), absl::string_view::npos) << shards;
  EXPECT_NE(shards.message().find("chunk_bytes"), absl::string_view::npos) << shards;
}

TEST(LayOutMemory, ContradictionsAreRefusedFirst) {
  TrainingJob job = SmallJob();
  job.sequence = 5000;
  EXPECT_EQ(RefusalOf(TinyModel(), job, {}).code(), absl::StatusCode::kInvalidArgument);
  StreamPlan plan;
  plan.model = "another";
  EXPECT_EQ(RefusalOf(TinyModel(), SmallJob(), plan).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace horizon
