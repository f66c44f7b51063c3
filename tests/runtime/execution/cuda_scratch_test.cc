// What the schedule lays out for the kernels of a CUDA device is what they ask for.
#include "schedule/cuda_scratch.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "common/kernel_context.h"
#include "gtest/gtest.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cached_attention.h"
#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/experts/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "kernels/head/head_loss.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

ModelSpec Spec(int64_t heads, int64_t kv_heads, int64_t head_dim) {
  ModelSpec spec;
  spec.name = "made";
  spec.hidden = 64;
  spec.intermediate = 176;
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  spec.head_dim = head_dim;
  spec.vocab = 320;
  spec.max_positions = 1 << 20;
  spec.layers.resize(2);
  return spec;
}

TrainingJob Job(int64_t micro_batch, int64_t sequence) {
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  job.micro_batch = micro_batch;
  job.sequence = sequence;
  return job;
}

uint64_t LaidOut(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  const absl::StatusOr<ChunkTable> chunks = CutIntoChunks(spec, job, plan);
  EXPECT_TRUE(chunks.ok()) << chunks.status();
  const Bytes bytes = CudaScratchBytes(spec, job, plan, *chunks,
                                       {.batch = job.micro_batch, .sequence = job.sequence});
  EXPECT_TRUE(bytes.ok());
  EXPECT_GT(bytes.value(), kGemmWorkspaceBytes);
  return bytes.value() - kGemmWorkspaceBytes;
}

TEST(CudaScratch, HoldsWhatAttentionAsksFor) {
  for (const int64_t sequence : {1, 40, 255, 256, 257, 4096, 100'000}) {
    for (const int64_t group : {1, 2, 7}) {
      for (const int64_t head_dim : {8, 64, 256}) {
        const ModelSpec spec = Spec(4 * group, 4, head_dim);
        const TrainingJob job = Job(3, sequence);
        const uint64_t bytes = LaidOut(spec, job, {});
        const AttentionShape shape{.batch = 3,
                                   .sequence = sequence,
                                   .heads = spec.heads,
                                   .kv_heads = spec.kv_heads,
                                   .head_dim = head_dim};
        EXPECT_GE(bytes, AttentionForwardWorkspaceBytes(shape));
        EXPECT_GE(bytes, AttentionBackwardWorkspaceBytes(shape));
        const KvCache cache{
            .batch = 3, .places = sequence, .kv_heads = spec.kv_heads, .head_dim = head_dim};
        EXPECT_GE(bytes, CachedAttentionWorkspaceBytes(cache, spec.heads));
      }
    }
  }
}

TEST(CudaScratch, HoldsWhatSortingTokenExpertPairsAsksFor) {
  for (const int64_t experts : {8, 128, 512}) {
    for (const int64_t sequence : {1, 127, 129, 8192, 20'000}) {
      ModelSpec spec = Spec(8, 4, 8);
      spec.experts = {.experts = experts, .experts_per_token = 2, .intermediate = 8};
      const TrainingJob job = Job(1, sequence);
      EXPECT_GE(LaidOut(spec, job, {}),
                DispatchWorkspaceBytes(std::min(sequence, job.piece_tokens), experts));
    }
  }
}

TEST(CudaScratch, IsLinearInTheSequence) {
  const ModelSpec spec = Spec(8, 4, 64);
  const auto at = [&](int64_t sequence) { return LaidOut(spec, Job(1, sequence), {}); };
  EXPECT_EQ(at(400'000) - at(300'000), at(300'000) - at(200'000));
}

TEST(CudaScratch, HoldsWhatLossAndSumsAskFor) {
  for (const int64_t hidden : {64, 4096, 16384}) {
    for (const int64_t tokens : {1, 300, 5000}) {
      ModelSpec spec = Spec(4, 2, 16);
      spec.hidden = hidden;
      spec.intermediate = 3 * hidden;
      TrainingJob job = Job(1, tokens);
      job.accumulation = 2;
      StreamPlan plan;
      plan.accumulation_order = AccumulationOrder::kChunkMajor;
      plan.loss_chunk_tokens = 1024;
      plan.chunk_bytes = 2_GiB;
      const uint64_t bytes = LaidOut(spec, job, plan);
      EXPECT_GE(bytes, HeadLossWorkspaceBytes(
                           {.tokens = std::min<int64_t>(tokens, 1024), .hidden = hidden}));
      float sum = 0;
      for (const int64_t width : {hidden, spec.intermediate}) {
        EXPECT_GE(bytes, static_cast<uint64_t>(LeastColumnScratchBytes(width)));
        for (const int64_t rows : {hidden, spec.intermediate}) {
          EXPECT_GE(bytes,
                    WeightGradientWorkspaceBytes({.m = rows,
                                                  .n = width,
                                                  .k = tokens,
                                                  .gradient = {.sum = &sum, .rounded = true}}));
        }
      }
    }
  }
}

// Rows of logits lie as far apart as the kernels take them to be, and the sums of a head in one
// piece lie behind them.
TEST(CudaScratch, LogitsHaveTheKernelsStride) {
  for (const int64_t vocab : {1, 7, 8, 9, 511, 513, 1029, 100'278}) {
    EXPECT_EQ(LogitStride(DeviceKind::kCuda, vocab), CudaLogitStride(vocab));
    EXPECT_EQ(LogitStride(DeviceKind::kHost, vocab), vocab);
    ModelSpec spec = Spec(4, 2, 16);
    spec.vocab = vocab;
    const TrainingJob job = Job(3, 40);
    const auto bytes = [&](BufferKind buffer, PassKind pass) {
      const absl::StatusOr<MemoryLayout> layout = LayOutMemory(spec, job, {}, pass);
      EXPECT_TRUE(layout.ok()) << layout.status();
      const auto found = std::find_if(layout->buffers.begin(), layout->buffers.end(),
                                      [&](const Buffer& one) { return one.kind == buffer; });
      return found->bytes;
    };
    const auto row = static_cast<uint64_t>(CudaLogitStride(vocab)) * sizeof(float);
    EXPECT_EQ(bytes(BufferKind::kLogits, PassKind::kTrain), Bytes(120 * (row + sizeof(TokenSums))));
    EXPECT_EQ(bytes(BufferKind::kLogits, PassKind::kEvaluate),
              Bytes(120 * (row + sizeof(TokenSums))));
    EXPECT_EQ(bytes(BufferKind::kLogits, PassKind::kDecode), Bytes(3 * row));
    EXPECT_EQ(bytes(BufferKind::kLogitsPinned, PassKind::kPrefill), Bytes(3 * row));
  }
}

}  // namespace
}  // namespace horizon
