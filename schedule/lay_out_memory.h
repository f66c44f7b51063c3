#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "schedule/chunk_table.h"
#include "schedule/schedule.h"

namespace horizon {

// The only source of bytes: which buffers a pass uses, how large, and where they lie. What is
// verified, simulated and allocated comes from here.

// The buffers by purpose, for the builders. -1, or an empty list: the pass has none.
struct BufferMap {
  // By chunk.
  std::vector<BufferId> weights_hi;
  std::vector<BufferId> weights_lo;
  std::vector<BufferId> moments;
  std::vector<BufferId> kept_gradient;
  std::vector<BufferId> embedding_gradient;
  std::vector<BufferId> norm_partials;
  std::vector<BufferId> norm_partials_on_host;
  std::vector<BufferId> update_faults;  // by chunk, a number for each slice
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
  // By micro-batch in flight; residuals_each of residuals, residual_gradients_each of their
  // gradients.
  std::vector<BufferId> residuals;
  std::vector<BufferId> residual_gradients;
  std::vector<BufferId> log_sum_exp;
  std::vector<BufferId> losses;
  std::vector<BufferId> head_input_sums;
  // By block and micro-batch in flight.
  std::vector<BufferId> anchors;
  // By a link's place in its block (recompute), or by link, counted from the first that is
  // differentiated, and micro-batch in flight.
  std::vector<BufferId> activations;
  BufferId clip_factor = -1;
  BufferId logits = -1;
  BufferId logits_pinned = -1;
  BufferId head_gradient = -1;
  BufferId workspace = -1;
  BufferId tile_scratch = -1;
  BufferId rotary_table = -1;
  // By link: which of its micro-batch's residuals the hidden state entering it is in.
  static constexpr int32_t kInAnchor = -1;
  std::vector<int32_t> hidden_place;
  int32_t residuals_each = 0;
  int32_t residual_gradients_each = 0;
  // Micro-batches that are under way at once: all of a step in chunk-major order, else one.
  int32_t in_flight = 1;
};

struct LaidOutBuffers {
  MemoryLayout memory;
  BufferMap map;
};

// `chunks` is CutIntoChunks of the same three. FailedPrecondition when a size passes 2^63 bytes.
absl::StatusOr<LaidOutBuffers> LayOutBuffers(const ModelSpec& spec, const TrainingJob& job,
                                             const StreamPlan& plan, const ChunkTable& chunks,
                                             PassKind kind);

// The layout alone.
absl::StatusOr<MemoryLayout> LayOutMemory(const ModelSpec& spec, const TrainingJob& job,
                                          const StreamPlan& plan, PassKind kind = PassKind::kTrain);

// Rules that layout and builders share.

// A token as every memory holds it: id, label, where the same id comes next, place in its sample.
inline constexpr Bytes kTokenBytes = 20_B;
// What is known of a token's logits so far: largest, sum of exponentials, the label's.
inline constexpr Bytes kTokenSumBytes = 12_B;
// Elements (fp32) from the logits of one token to those of the next, of `rows` rows of the
// vocabulary: on a CUDA device each begins at a multiple of 32 bytes (kernels/head/head_loss.h has
// the same).
constexpr int64_t LogitStride(DeviceKind device, int64_t rows) {
  return device == DeviceKind::kCuda ? (rows + 7) / 8 * 8 : rows;
}
// Sum of losses and number of counted tokens of a micro-batch.
inline constexpr Bytes kLossBytes = 16_B;
// The activations a stage keeps begin at a multiple of this: what the widest load of a device
// wants.
inline constexpr uint64_t kActivationAlignment = 16;
// Norm, factor, and whether the step may be taken.
inline constexpr Bytes kClipFactorBytes = 16_B;

// The gradient of a chunk is kept on the host between its arrival and its update.
bool KeepsGradient(const ChunkTable& chunks, const TrainingJob& job, const StreamPlan& plan,
                   int32_t chunk);
// Forward keeps the activations of this block, so that it is not recomputed: the last one, where
// one micro-batch is under way at a time. -1, for links that are not differentiated: it never does.
bool ForwardKeeps(const ChunkTable& chunks, const TrainingJob& job, const StreamPlan& plan,
                  int32_t in_flight, int32_t block);
// A chunk that crosses the link or is looked up on the device (not a table that stays on the host).
bool IsUsedOnDevice(const ChunkTable& chunks, const StreamPlan& plan, int32_t chunk);
// Micro-batches summed on the device before a gradient leaves: all in chunk-major order, else one.
int64_t SummedOnDevice(const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon
