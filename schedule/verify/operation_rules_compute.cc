// The rules of inputs, weights and the compute lane.
#include "schedule/offload_baselines.h"
#include "schedule/verify/operation_rules.h"

namespace horizon {

void OperationRules::ReadsOwnWeights() {
  Fits(Reads({ContentKind::kWeights, op_->chunk, -1, -1},
             {BufferKind::kRingSlot, BufferKind::kResidentWeights, BufferKind::kWeightsHi}),
       each_.slot * chunk().parameters);
}

void OperationRules::CheckEmbedding() {
  if (op_->kind == OperationKind::kGather) {
    for (int32_t c = table_.embedding.begin; c < table_.embedding.end; ++c) {
      Reads({ContentKind::kWeights, c, -1, -1}, {BufferKind::kWeightsHi});
    }
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    Writes({ContentKind::kRows, -1, op_->micro_batch, -1});
  } else if (op_->kind == OperationKind::kLoadRows) {
    Reads({ContentKind::kRows, -1, op_->micro_batch, -1});
    Writes(Hidden(0, 1));
  } else {
    ReadsOwnWeights();
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    Writes(Hidden(0, chunk().shard + 1));
  }
}

void OperationRules::CheckLoad() {
  const Bytes bytes = each_.link * chunk().parameters;
  const bool packs = op_->kind == OperationKind::kPack;
  const Access* packed = Find(AccessMode::kRead, {ContentKind::kWeights, op_->chunk, -1, -1},
                              {BufferKind::kStagingBuffer});
  if (packed == nullptr) {
    Reads({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kWeightsHi});
    if (schedule_.job.compute_type == NumberType::kFp32) {
      Reads({ContentKind::kLowHalf, op_->chunk, -1, -1}, {BufferKind::kWeightsLo});
    }
  }
  if (const Bytes copy = FrameworkBytes(schedule_.plan.strategy); copy > 0_B) {
    Fits(Reads({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kFrameworkCopy}),
         copy * chunk().parameters);
  }
  if (packs) {
    Fits(Writes({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kStagingBuffer}), bytes);
    return Moves(2 * bytes);
  }
  Fits(Writes({ContentKind::kWeights, op_->chunk, -1, -1},
              {BufferKind::kRingSlot, BufferKind::kResidentWeights}),
       each_.slot * chunk().parameters);
  Moves(bytes);
}

void OperationRules::CheckCache() {
  const bool decodes = schedule_.kind == PassKind::kDecode;
  if (!decodes && schedule_.kind != PassKind::kPrefill) return;
  if (!attention_[op_->chunk].last) return;
  const Content cache{ContentKind::kKvCache, op_->chunk, -1, -1};
  if (decodes) Reads(cache, {BufferKind::kKvCache});
  Writes(cache, {BufferKind::kKvCache});
}

void OperationRules::CheckLayerMemory(ContentKind handed_on, int32_t done) {
  Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
  if (attention_[op_->chunk].any) {
    Reads({ContentKind::kRotaryTable, -1, -1, -1}, {BufferKind::kRotaryTable});
  }
  if (chunk().shards == 1) {
    Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kWorkspace});
  } else {
    Continues({handed_on, chunk().group, op_->micro_batch, -1}, done, {BufferKind::kWorkspace});
  }
}

void OperationRules::CheckForward() {
  const int32_t group = chunk().group;
  const int32_t shard = chunk().shard;
  ReadsOwnWeights();
  Reads(Hidden(group, PartsBefore(group)));
  CheckLayerMemory(ContentKind::kStageArrays, shard);
  CheckCache();
  const bool forward = op_->kind == OperationKind::kForward;
  if (forward && schedule_.kind == PassKind::kTrain && RoutersHere() > 0) {
    const Places places = {BufferKind::kRouterSums};
    if (RoutersBefore() > 0) Reads(RouterSums(RoutersBefore()), places);
    Writes(RouterSums(RoutersBefore() + RoutersHere()), places);
  }
  const Content activations{ContentKind::kActivations, group, op_->micro_batch, -1};
  const bool keeps = Find(AccessMode::kWrite, activations) != nullptr;
  if (keeps) Continues(activations, shard, {BufferKind::kActivations});
  if (shard + 1 == chunk().shards && (forward || !keeps)) Writes(Hidden(group + 1, 1));
  // A norm has none, and few tokens may leave a shard of experts without work. A recompute without
  // output leaves out the last multiply, and all of them where gate and up are not kept.
  const bool has_output = forward || !keeps;
  if (op_->flops == 0 && (has_output || FirstStage() != StageKind::kFeedForward) &&
      (FirstStage() == StageKind::kAttention || FirstStage() == StageKind::kFeedForward)) {
    Problem("has no flops");
  }
}

void OperationRules::CheckAnchor() {
  const bool exists =
      op_->part >= 0 && op_->part < static_cast<int32_t>(table_.recompute_blocks.size());
  if (!exists) return Problem("is about a block that does not exist");
  const int32_t group = table_.recompute_blocks[op_->part].groups.begin;
  Reads(Hidden(group, PartsBefore(group)));
  Writes(Hidden(group, PartsBefore(group)));
}

void OperationRules::CheckLogits() {
  if (!table_.head.contains(op_->chunk)) return Problem("is not about a chunk of the head");
  ReadsOwnWeights();
  Reads(Hidden(groups(), PartsBefore(groups())));
  Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
  Writes({ContentKind::kLogits, -1, -1, chunk().shard + 1});
  Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kWorkspace});
}

void OperationRules::CheckHead() {
  const int32_t parts = LossParts();
  if (!table_.head.contains(op_->chunk)) return Problem("is not about a chunk of the head");
  if (op_->kind == OperationKind::kHeadGradient) {
    Reads({ContentKind::kHeadGradient, op_->chunk, op_->micro_batch, parts});
    return CheckGradientWritten();
  }
  ReadsOwnWeights();
  Reads(Hidden(groups(), PartsBefore(groups())));
  Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
  Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kLogits});
  const int32_t done = chunk().shard * parts + op_->part;
  if (op_->kind == OperationKind::kLogSumExp) {
    Writes({ContentKind::kLogSumExp, -1, op_->micro_batch, done + 1});
    return;
  }
  if (table_.head.size() > 1) {
    Reads({ContentKind::kLogSumExp, -1, op_->micro_batch, parts * table_.head.size()});
  }
  const bool hands_on = TrainsBefore(groups());
  if (hands_on) Writes(HiddenGradient(groups(), done + 1));
  if (chunk().trained > 0) {
    Writes({ContentKind::kHeadGradient, op_->chunk, op_->micro_batch, op_->part + 1});
  }
  Writes({ContentKind::kLoss, -1, op_->micro_batch, done + 1});
  // A gradient of bf16 is summed over the shards in fp32.
  if (hands_on && table_.head.size() > 1 && ActivationBytes(schedule_.job) < 4_B) {
    Continues({ContentKind::kHeadInputSum, -1, op_->micro_batch, -1}, done,
              {BufferKind::kHeadInputSum});
  }
}

void OperationRules::CheckBackward() {
  if (op_->kind == OperationKind::kEmbedBackward) {
    Reads(HiddenGradient(0, 1));
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
    return CheckGradientWritten();
  }
  const int32_t group = chunk().group;
  const int32_t shards = chunk().shards;
  ReadsOwnWeights();
  Reads({ContentKind::kActivations, group, op_->micro_batch, shards}, {BufferKind::kActivations});
  const int32_t parts = group + 1 < groups() ? 1 : LossParts() * table_.head.size();
  Reads(HiddenGradient(group + 1, parts));
  CheckLayerMemory(ContentKind::kStageGradients, shards - 1 - chunk().shard);
  if (chunk().shard == 0 && TrainsBefore(group)) Writes(HiddenGradient(group, 1));
  if (!TrainsBefore(group) && chunk().pieces.size() > 1) {
    Writes({ContentKind::kScratch, -1, -1, -1}, {BufferKind::kResidualGradient});
  }
  if (schedule_.job.router_aux_loss > 0 && RoutersHere() > 0) {
    Reads(RouterSums(routers_), {BufferKind::kRouterSums});
  }
  if (!TrainsBefore(group) && !TrainsIn(group))
    Problem("differentiates what nothing trained needs");
  if (chunk().trained > 0) CheckGradientWritten();
}

}  // namespace horizon
