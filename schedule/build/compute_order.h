#pragma once

#include <cstdint>
#include <vector>

#include "schedule/chunk_table.h"
#include "schedule/operation.h"
#include "schedule/schedule.h"

namespace horizon {

// What the compute lane does in a step, in order, and nothing about memory: which chunk is taken
// through which micro-batch when. Everything else (loads, offloads, waits) follows from it.

struct ComputeItem {
  // kNextBatch (fetch a micro-batch ahead of its use), kEmbed, kForward, kRecompute, kLogSumExp,
  // kLoss, kHeadGradient, kBackward, kEmbedBackward, kLogits.
  OperationKind kind = OperationKind::kForward;
  int32_t chunk = -1;  // -1: kNextBatch, and an embedding that stays on the host
  int32_t micro_batch = 0;
  int32_t part = -1;  // loss chunk

  // The weights of `chunk` must be on the device.
  bool uses_weights() const {
    return chunk >= 0 && kind != OperationKind::kEmbedBackward &&
           kind != OperationKind::kHeadGradient;
  }
};

// A step of `horizon` or `resident`, in the plan's accumulation order.
std::vector<ComputeItem> TrainOrder(const ChunkTable& chunks, const TrainingJob& job,
                                    const StreamPlan& plan);
// A step of the published implementation: a block is recomputed without keeping activations, then
// each of its layers is forwarded once more, just before its backward.
std::vector<ComputeItem> ReferenceOrder(const ChunkTable& chunks, const TrainingJob& job,
                                        const StreamPlan& plan);
// One batch forward: kEvaluate ends with the loss, kPrefill and kDecode with logits.
std::vector<ComputeItem> ForwardOrder(const ChunkTable& chunks, const TrainingJob& job,
                                      const StreamPlan& plan, PassKind kind);

// Loss chunks of a micro-batch.
int32_t LossParts(const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon
