#include "schedule/cuda_scratch.h"

#include <algorithm>

#include "common/kernel_context.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

constexpr uint64_t kPartAlignment = 256;
// As kernels/attention/attention.h and cached_attention.h cut.
constexpr int64_t kQueryTile = 256;
constexpr uint64_t kKeyTile = 512;
constexpr int64_t kCachePlaces = 256;
// Tokens that kernels/experts/dispatch.h sorts together.
constexpr int64_t kDispatchTile = 128;
// Elements of a gradient that are rounded at once (kernels/gemm/gemm.h), and rows at least.
constexpr uint64_t kRoundedElements = uint64_t{8} << 20;
constexpr uint64_t kRoundedRows = 128;

Bytes Part(Bytes bytes) { return bytes.RoundedUp(kPartAlignment); }

CheckedU64 Count(int64_t count) { return CheckedU64::FromSigned(count); }

Bytes AttentionBytes(const ModelSpec& spec, TokenBatch batch) {
  const CheckedU64 rows = Count(spec.heads) * Count(std::min(batch.sequence, kQueryTile));
  const CheckedU64 width = Count(spec.head_dim);
  const CheckedU64 keys = Count(batch.sequence) * Count(spec.kv_heads) * width;
  return Part(rows * width * 2_B) * 2 + Part(rows * kKeyTile * 4_B) * 2 + Part(rows * width * 4_B) +
         Part(keys * 4_B) * 2 + Part(rows * 4_B) * 2;
}

// Of a token that is decoded: all places of the longest cache in tiles.
Bytes CacheBytes(const ModelSpec& spec, const TrainingJob& job) {
  const CheckedU64 tiles = Count(job.micro_batch) * Count(spec.heads) *
                           Count((job.sequence + kCachePlaces - 1) / kCachePlaces);
  return Part(tiles * 4_B) * 2 + Part(tiles * Count(spec.head_dim) * 4_B);
}

// The widest array whose columns are summed, or gradient that is rounded.
int64_t WidestColumns(const ModelSpec& spec) {
  return std::max({spec.hidden, spec.intermediate, spec.heads * spec.head_dim, spec.experts.experts,
                   2 * spec.experts.intermediate});
}

Bytes RoundedGradientBytes(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  if (SummedOnDevice(job, plan) <= 1 || job.gradient_type != NumberType::kBf16) return 0_B;
  const CheckedU64 widest = Count(WidestColumns(spec));
  return std::max(CheckedU64(kRoundedElements), widest * kRoundedRows) * 2_B;
}

// Of sorting the pairs of a piece of tokens by expert.
Bytes DispatchBytes(const ModelSpec& spec, const TrainingJob& job, TokenBatch batch) {
  if (spec.experts.experts == 0) return 0_B;
  const int64_t tokens = std::min(batch.tokens(), job.piece_tokens);
  const CheckedU64 tiles = Count((tokens + kDispatchTile - 1) / kDispatchTile);
  return Part(tiles * Count(spec.experts.experts) * 4_B) + Part(Count(spec.experts.experts) * 4_B);
}

}  // namespace

Bytes CudaScratchBytes(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                       const ChunkTable& chunks, TokenBatch batch) {
  const int64_t loss_tokens = std::min(plan.loss_chunk_tokens, batch.tokens());
  const Bytes loss = chunks.head.size() > 1 ? 0_B : Count(loss_tokens) * Count(spec.hidden) * 4_B;
  const Bytes columns = Count(WidestColumns(spec)) * 12_B + 16_B;
  return Bytes(kGemmWorkspaceBytes) + std::max({AttentionBytes(spec, batch), CacheBytes(spec, job),
                                                loss, RoundedGradientBytes(spec, job, plan),
                                                columns, DispatchBytes(spec, job, batch)});
}

}  // namespace horizon
