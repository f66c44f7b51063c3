#pragma once

#include <cstdint>
#include <vector>

#include "schedule/chunk_table.h"
#include "schedule/operation.h"
#include "schedule/schedule.h"

namespace horizon {

// The order in which the compute lane of a step takes micro-batches through chunks, without
// anything about memory. Loads, offloads and waits follow from this order.

// One chunk and one micro-batch at a time.
struct ComputeItem {
  // One of kNextBatch (fetch a micro-batch ahead of its use), kEmbed, kForward, kRecompute,
  // kLogSumExp, kLoss, kHeadGradient, kBackward, kEmbedBackward, kLogits.
  OperationKind kind = OperationKind::kForward;
  int32_t chunk = -1;  // -1: kNextBatch, and an embedding that stays on the host
  int32_t micro_batch = 0;
  // The loss chunk; for kRecompute in ReferenceOrder, 0 in the first and 1 in the second recompute.
  int32_t part = -1;

  // Whether the weights of `chunk` must be on the device.
  bool uses_weights() const {
    return chunk >= 0 && kind != OperationKind::kEmbedBackward &&
           kind != OperationKind::kHeadGradient;
  }
};

// A training step of `horizon` or `resident`, in the plan's accumulation order.
std::vector<ComputeItem> TrainOrder(const ChunkTable& chunks, const TrainingJob& job,
                                    const StreamPlan& plan);
// A training step of the published implementation: a recompute block is recomputed without keeping
// activations, then each of its layers is recomputed once more, just before its backward.
std::vector<ComputeItem> ReferenceOrder(const ChunkTable& chunks, const TrainingJob& job,
                                        const StreamPlan& plan);
// The forward pass of one batch. kEvaluate ends with the loss, kPrefill and kDecode with logits.
std::vector<ComputeItem> ForwardOrder(const ChunkTable& chunks, const TrainingJob& job,
                                      const StreamPlan& plan, PassKind kind);

// The number of loss chunks of a micro-batch.
int32_t LossParts(const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon
