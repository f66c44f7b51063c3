// The rules of gradients, from the device to the update.
#include "schedule/chunk_tensors.h"
#include "schedule/offload_baselines.h"
#include "schedule/verify/operation_rules.h"

namespace horizon {

void OperationRules::CheckGradientWritten() {
  const int32_t summed = SumsOnDevice() ? op_->micro_batch + 1 : 1;
  const Content gradient{ContentKind::kGradient, op_->chunk, op_->micro_batch, summed};
  Fits(Writes(gradient, {BufferKind::kGradient}), LeavingBytes());
  if (summed > 1) Reads({ContentKind::kGradient, op_->chunk, op_->micro_batch - 1, summed - 1});
}

void OperationRules::CheckOffload() {
  if (op_->kind == OperationKind::kOffloadRows) {
    Reads(HiddenGradient(0, 1));
    Writes({ContentKind::kRowGradients, -1, op_->micro_batch, -1});
    return;
  }
  const Content gradient{ContentKind::kGradient, op_->chunk, op_->micro_batch,
                         SumsOnDevice() ? accumulation() : 1};
  Reads(gradient, {BufferKind::kGradient});
  Writes(gradient, {GradientSlabKind()});
  Moves(LeavingBytes());
}

BufferKind OperationRules::GradientSlabKind() const {
  const bool table = schedule_.plan.strategy != Strategy::kHorizon && chunk().group < 0;
  return table ? BufferKind::kTableSlab : BufferKind::kGradientSlab;
}

void OperationRules::CheckContribution() {
  int32_t came = 1;
  if (op_->kind == OperationKind::kAccumulate) {
    const Access* arrived = Reads({ContentKind::kGradient, op_->chunk, op_->micro_batch, -1},
                                  {resident() ? BufferKind::kGradient : GradientSlabKind()});
    if (arrived != nullptr) came = arrived->content.n;
  } else if (op_->kind == OperationKind::kScatter) {
    Reads({ContentKind::kRowGradients, -1, op_->micro_batch, -1});
    Reads({ContentKind::kTokens, -1, op_->micro_batch, -1});
  } else {
    came = accumulation();
    Reads({ContentKind::kEmbeddingGradient, op_->chunk, -1, came});
  }
  const bool apart =
      Find(AccessMode::kWrite, {ContentKind::kEmbeddingGradient, op_->chunk, -1, -1}) != nullptr;
  const ContentKind kind = apart ? ContentKind::kEmbeddingGradient : ContentKind::kGradient;
  const BufferKind place = apart ? BufferKind::kEmbeddingGradient : BufferKind::kKeptGradient;
  const Access* sum = Writes({kind, op_->chunk, -1, -1}, {place});
  Fits(sum, (apart ? 4_B : each_.kept_gradient) * chunk().trained);
  if (sum != nullptr && sum->content.n > came) {
    Reads({kind, op_->chunk, -1, sum->content.n - came}, {place});
  }
}

void OperationRules::CheckNorm() {
  if (op_->kind == OperationKind::kClipFactor) {
    for (size_t c = 0; c < table_.chunks.size(); ++c) {
      if (table_.chunks[c].trained == 0) continue;
      Reads({ContentKind::kNormPartials, static_cast<int32_t>(c), -1, -1},
            {resident() ? BufferKind::kNormPartialsPinned : BufferKind::kNormPartials});
    }
    for (int32_t mb = 0; mb < accumulation(); ++mb) {
      Reads({ContentKind::kLoss, -1, mb, LossParts() * table_.head.size()},
            {BufferKind::kLossPinned});
      if (routers_ > 0) {
        Reads({ContentKind::kRouterSums, -1, mb, routers_}, {BufferKind::kRouterSumsPinned});
      }
    }
    Writes({ContentKind::kClipFactor, -1, -1, -1});
    return;
  }
  const Content partials{ContentKind::kNormPartials, op_->chunk, -1, -1};
  if (op_->kind == OperationKind::kOffloadNorms) {
    Reads(partials, {BufferKind::kNormPartials});
    Writes(partials, {BufferKind::kNormPartialsPinned});
    return Moves(8_B * chunk().norm_blocks);
  }
  Reads({ContentKind::kGradient, op_->chunk, -1, FullContributions()});
  if (op_->kind == OperationKind::kNorm) {
    Fits(Writes(partials, {BufferKind::kNormPartials}), 8_B * chunk().norm_blocks);
  } else {
    Reads({ContentKind::kClipFactor, -1, -1, -1});
    Writes({ContentKind::kClippedGradient, op_->chunk, -1, -1});
  }
}

void OperationRules::CheckAdam() {
  const bool clipped_before =
      Find(AccessMode::kRead, {ContentKind::kClippedGradient, op_->chunk, -1, -1}) != nullptr;
  if (!clipped_before) Reads({ContentKind::kGradient, op_->chunk, -1, FullContributions()});
  if (schedule_.job.optimizer_place != OptimizerPlace::kInBackward) {
    Reads({ContentKind::kClipFactor, -1, -1, -1});
  }
  const uint64_t parameters = chunk().parameters;
  const uint64_t trained = chunk().trained;
  const auto updates = [&](ContentKind kind, BufferKind place, Bytes bytes) {
    Reads({kind, op_->chunk, -1, -1}, {place});
    Fits(Writes({kind, op_->chunk, -1, -1}, {place}), bytes);
  };
  updates(ContentKind::kWeights, BufferKind::kWeightsHi, 2_B * parameters);
  if (each_.low_half > 0_B) {
    // Loads of fp32 weights read the low halves of frozen tensors too.
    const bool loaded = schedule_.job.compute_type == NumberType::kFp32;
    updates(ContentKind::kLowHalf, BufferKind::kWeightsLo,
            each_.low_half * (loaded ? parameters : trained));
  }
  const bool late = resident() && schedule_.job.device == DeviceKind::kCuda;
  if (late) {
    Fits(Writes({ContentKind::kUpdateFaults, op_->chunk, -1, -1}, {BufferKind::kUpdateFaults}),
         8_B * TrainedSlicesOf(table_, op_->chunk));
  }
  updates(ContentKind::kMoments, BufferKind::kMoments,
          MomentBytes(schedule_.job.state_format, trained, chunk().moment_blocks));
  if (resident() && each_.slot != 2_B) {
    updates(ContentKind::kWeights, BufferKind::kResidentWeights, each_.slot * parameters);
  }
  if (const Bytes copy = FrameworkBytes(schedule_.plan.strategy); copy > 0_B) {
    Fits(Writes({ContentKind::kWeights, op_->chunk, -1, -1}, {BufferKind::kFrameworkCopy}),
         copy * parameters);
  }
}

void OperationRules::CheckRouting() {
  Reads(RouterSums(routers_), {BufferKind::kRouterSums});
  Writes(RouterSums(routers_), {BufferKind::kRouterSumsPinned});
  int64_t numbers = 0;
  for (const Stage& stage : table_.stages) {
    if (stage.kind == StageKind::kExperts) numbers += 2 * stage.units;
  }
  Moves(8_B * static_cast<uint64_t>(numbers));
}

void OperationRules::CheckFaults() {
  const Content faults{ContentKind::kUpdateFaults, op_->chunk, -1, -1};
  if (op_->kind == OperationKind::kOffloadFaults) {
    Reads(faults, {BufferKind::kUpdateFaults});
    Writes(faults, {BufferKind::kUpdateFaultsPinned});
  } else {
    Reads(faults, {BufferKind::kUpdateFaultsPinned});
  }
  Moves(8_B * TrainedSlicesOf(table_, op_->chunk));
}

}  // namespace horizon
