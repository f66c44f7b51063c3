#pragma once

#include <vector>

#include "schedule/build/compute_order.h"
#include "schedule/build/pass_emitter.h"
#include "schedule/schedule.h"
#include "schedule/strategy_rules.h"

namespace horizon {

// Emits all items of a compute order, each with the operations that belong to it: activation
// checkpoints where recompute blocks begin, and the copies of losses and gradients to the host. The
// strategy decides how weights reach the device: `weights_of(item)` is called once before each item
// that uses weights, may emit loads, and returns the buffer that holds them.
template <typename WeightsOf>
void RunItems(const std::vector<ComputeItem>& items, const Schedule& schedule, int32_t in_flight,
              PassEmitter& emit, WeightsOf weights_of) {
  using Keep = PassEmitter::Keep;
  using Use = PassEmitter::Use;
  const ChunkTable& chunks = schedule.chunks;
  const StreamPlan& plan = schedule.plan;
  const bool train = schedule.kind == PassKind::kTrain;
  const StrategyRules rules = RulesOf(schedule.job, plan);
  const int32_t summed = static_cast<int32_t>(SummedOnDevice(schedule.job, plan));
  const int32_t last_part = LossParts(schedule.job, plan) - 1;
  const auto begins_block = [&](int32_t c) {
    const int32_t block = chunks.chunks[c].recompute_block;
    return block >= 0 && chunks.recompute_blocks[block].chunks.begin == c;
  };
  const auto sends = [&](int32_t c, int32_t mb) {
    return !chunks.chunks[c].frozen() && (summed == 1 || mb + 1 == summed);
  };

  for (const ComputeItem& item : items) {
    const int32_t c = item.chunk;
    const int32_t mb = item.micro_batch;
    const bool host_anchor = train && item.uses_weights() && chunks.layers.contains(c) &&
                             plan.recompute && plan.anchor_home == AnchorHome::kHost &&
                             begins_block(c) &&
                             !ForwardKeepsActivations(chunks, schedule.job, plan, in_flight,
                                                      chunks.chunks[c].recompute_block);
    if (host_anchor && item.kind == OperationKind::kForward) {
      emit.SaveAnchor(chunks.chunks[c].recompute_block, mb);
    }
    if (host_anchor && item.kind == OperationKind::kRecompute) {
      emit.LoadAnchor(chunks.chunks[c].recompute_block, mb);
    }
    const BufferId weights = item.uses_weights() ? weights_of(item) : -1;
    switch (item.kind) {
      case OperationKind::kNextBatch:
        emit.FetchBatch(mb);
        break;
      case OperationKind::kEmbed:
        if (c < 0) {
          emit.EmbedFromRows(mb);
        } else {
          emit.Embed(c, mb, weights);
        }
        break;
      case OperationKind::kForward: {
        const bool keeps = train && ForwardKeepsActivations(chunks, schedule.job, plan, in_flight,
                                                            chunks.chunks[c].recompute_block);
        emit.Forward(c, mb, weights, keeps ? Keep::kActivations : Keep::kNothing);
        break;
      }
      case OperationKind::kRecompute:
        emit.Recompute(c, mb, weights,
                       rules.recomputes_layer_by_layer && item.part == 0 ? Keep::kNothing
                                                                         : Keep::kActivations);
        break;
      case OperationKind::kLogSumExp:
        emit.LogSumExp(c, mb, item.part, weights);
        if (!train && c + 1 == chunks.head.end && item.part == last_part) emit.OffloadLoss(mb);
        break;
      case OperationKind::kLoss:
        emit.Loss(c, mb, item.part, weights);
        if (c + 1 == chunks.head.end && item.part == last_part) emit.OffloadLoss(mb);
        break;
      case OperationKind::kHeadGradient:
        emit.HeadGradient(c, mb);
        if (sends(c, mb)) emit.SendGradient(c, mb, Use::kModel);
        break;
      case OperationKind::kBackward:
        emit.Backward(c, mb, weights);
        if (sends(c, mb)) emit.SendGradient(c, mb, Use::kModel);
        break;
      case OperationKind::kEmbedBackward:
        if (c < 0) {
          emit.SendRows(mb);
          break;
        }
        emit.EmbedBackward(c, mb);
        if (sends(c, mb)) emit.SendGradient(c, mb, Use::kEmbedding);
        break;
      case OperationKind::kLogits:
        emit.Logits(c, weights);
        if (c + 1 == chunks.head.end) emit.OffloadLogits();
        break;
      default:
        break;
    }
  }
}

}  // namespace horizon
