#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/chunk_table.h"
#include "schedule/schedule.h"

namespace horizon {

// Decides which buffers a pass uses, how large they are and where they are placed. It is the only
// source of sizes: the verifier, the simulator and the runtime all use its result.

// The buffers by purpose, for the builders. A pass without such a buffer has -1 or an empty list.
struct BufferMap {
  // By chunk.
  std::vector<BufferId> weights_hi;
  std::vector<BufferId> weights_lo;
  std::vector<BufferId> moments;
  std::vector<BufferId> kept_gradient;
  std::vector<BufferId> embedding_gradient;
  std::vector<BufferId> norm_partials;
  std::vector<BufferId> norm_partials_on_host;
  std::vector<BufferId> update_faults;  // a number for each trained slice of the chunk
  std::vector<BufferId> update_faults_pinned;
  std::vector<BufferId> framework_copy;
  std::vector<BufferId> resident_weights;
  std::vector<BufferId> table_slabs;
  std::vector<BufferId> kv_cache;
  // Pools.
  std::vector<BufferId> ring;
  std::vector<BufferId> staging_buffers;
  std::vector<BufferId> gradients;
  std::vector<BufferId> gradient_slabs;
  std::vector<BufferId> anchor_stages;
  std::vector<BufferId> tokens_pinned;
  std::vector<BufferId> tokens;
  std::vector<BufferId> embedding_rows;
  std::vector<BufferId> row_gradients;
  std::vector<BufferId> loss_pinned;
  std::vector<BufferId> router_sums_pinned;
  // By micro-batch in flight. Each has `residuals_each` residuals and `residual_gradients_each`
  // gradients of residuals.
  std::vector<BufferId> residuals;
  std::vector<BufferId> residual_gradients;
  std::vector<BufferId> log_sum_exp;
  std::vector<BufferId> losses;
  std::vector<BufferId> router_sums;
  std::vector<BufferId> head_input_sums;
  // Activation checkpoints, by recompute block and micro-batch in flight.
  std::vector<BufferId> anchors;
  // With recompute: by the place of a chunk group within its recompute block. Without: by chunk
  // group, counted from the first differentiated one, and micro-batch in flight.
  std::vector<BufferId> activations;
  BufferId clip_factor = -1;
  BufferId logits = -1;
  BufferId logits_pinned = -1;
  BufferId head_gradient = -1;
  BufferId workspace = -1;
  BufferId tile_scratch = -1;
  BufferId rotary_table = -1;
  // By chunk group: which residual of the micro-batch holds the hidden state that enters the group.
  // kInAnchor: the activation checkpoint itself holds it.
  static constexpr int32_t kInAnchor = -1;
  std::vector<int32_t> hidden_place;
  int32_t residuals_each = 0;
  int32_t residual_gradients_each = 0;
  // Micro-batches in flight, that is, under way at once: all of a step in chunk-major order, else
  // one.
  int32_t in_flight = 1;
};

// The layout of a pass, and the buffers in it by purpose.
struct LaidOutBuffers {
  MemoryLayout memory;
  BufferMap map;
};

// Lays out the buffers of a pass. `chunks` must be CutIntoChunks of the same spec, job and plan.
// Fails with FailedPrecondition when a memory exceeds 2^63 bytes or a step has too many operations.
absl::StatusOr<LaidOutBuffers> LayOutBuffers(const ModelSpec& spec, const TrainingJob& job,
                                             const StreamPlan& plan, const ChunkTable& chunks,
                                             PassKind kind);

// The sizes of the memories that LayOutBuffers would lay out, with the same errors, without listing
// the buffers. The plan search calls this thousands of times.
absl::StatusOr<MemoryTotals> MeasureLayout(const ModelSpec& spec, const TrainingJob& job,
                                           const StreamPlan& plan, const ChunkTable& chunks,
                                           PassKind kind);

// Checks spec, job and plan, cuts the chunks and returns the layout alone.
absl::StatusOr<MemoryLayout> LayOutMemory(const ModelSpec& spec, const TrainingJob& job,
                                          const StreamPlan& plan, PassKind kind = PassKind::kTrain);

// Rules that layout and builders share.

// Bytes of a token record: id, label, where the same id comes next, and position in its sample.
inline constexpr Bytes kTokenBytes = 20_B;
// Bytes of the running log-sum-exp of a token: largest logit, sum of exponentials, logit of the
// label.
inline constexpr Bytes kTokenSumBytes = 12_B;
// fp32 elements from the logits of one token to the logits of the next, for `rows` rows of the
// vocabulary. On a CUDA device each token's logits begin at a multiple of 32 bytes
// (kernels/head/head_loss.h has the same rule).
constexpr int64_t LogitStride(DeviceKind device, int64_t rows) {
  return device == DeviceKind::kCuda ? (rows + 7) / 8 * 8 : rows;
}
// Bytes of a micro-batch's loss: the sum of losses and the number of counted tokens.
inline constexpr Bytes kLossBytes = 16_B;
// Bytes of what the routers of a micro-batch chose: for each router in turn, how often it chose
// each expert (int64), then the sums of its probabilities (fp64).
Bytes RouterSumsBytes(const ChunkTable& chunks);
// The kept activations of a stage begin at a multiple of this: the alignment of the widest load of
// a device.
inline constexpr uint64_t kActivationAlignment = 16;
// Bytes of the clip result: norm, clip factor, and whether the step may be taken.
inline constexpr Bytes kClipFactorBytes = 16_B;

// Whether the gradient of a chunk is kept in a buffer of its own (on the host, but for `resident`)
// between its arrival and its update.
bool KeepsGradient(const ChunkTable& chunks, const TrainingJob& job, const StreamPlan& plan,
                   int32_t chunk);
// Whether forward keeps the activations of this recompute block, so that it is not recomputed. That
// is so for the last block, where one micro-batch is in flight at a time. `block` -1 (chunk groups
// that are not differentiated): never.
bool ForwardKeepsActivations(const ChunkTable& chunks, const TrainingJob& job,
                             const StreamPlan& plan, int32_t in_flight, int32_t block);
// Whether compute reads the chunk on the device: all chunks, but for an untied embedding table that
// stays on the host.
bool IsUsedOnDevice(const ChunkTable& chunks, const StreamPlan& plan, int32_t chunk);
// How many micro-batches are summed on the device before a gradient is copied to the host: all of a
// step in chunk-major order, else one.
int64_t SummedOnDevice(const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon
