// What happens to gradients once they have left: sums, norms, the clip factor and the update.
#include <cmath>
#include <string>
#include <vector>

#include "common/failure_source.h"
#include "common/text/str_cat.h"
#include "runtime/execution/operation_body.h"
#include "runtime/parameters/moment_layout.h"
#include "runtime/parameters/tensor_key.h"
#include "schedule/chunk_tensors.h"

namespace horizon {
namespace {

absl::Status FailedUpdate(const TensorSlice& slice, const absl::Status& status) {
  return WithFailureSource(
      absl::Status(status.code(),
                   StrCat("updating ", slice.tensor->name, ": ", std::string(status.message()))),
      absl::IsOutOfRange(status) ? FailureSource::kNumerics : FailureSource::kOther);
}

}  // namespace

absl::Status OperationBodies::Body::AccumulateGradient() const {
  const Access* target = Find(AccessMode::kWrite, ContentKind::kGradient);
  if (target == nullptr) target = &Writes(ContentKind::kEmbeddingGradient);
  const Access* source = nullptr;
  for (const Access& access : call_.phase.AccessesOf(op_)) {
    if (access.mode == AccessMode::kRead && access.buffer != target->buffer) source = &access;
  }
  CHECK(source != nullptr);
  const GradientView from = GradientAt(*source);
  const GradientView kept = GradientAt(*target);
  return k_.accumulate(context_, {.count = trained(),
                                  .gradient_fp32 = from.fp32,
                                  .gradient_bf16 = from.bf16,
                                  .add = AddsTo(*target),
                                  .kept_fp32 = kept.fp32,
                                  .kept_bf16 = kept.bf16});
}

absl::Status OperationBodies::Body::Scatter() const {
  const Access* target = Find(AccessMode::kWrite, ContentKind::kGradient);
  if (target == nullptr) target = &Writes(ContentKind::kEmbeddingGradient);
  const GradientView kept = GradientAt(*target);
  const UnitRange rows = Rows(op_.chunk);
  return k_.scatter_rows(context_, {.tokens = tokens_,
                                    .hidden = hidden_,
                                    .first_row = rows.begin,
                                    .rows = rows.end - rows.begin,
                                    .scale = EmbeddingScale(),
                                    .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                                    .row_gradients = Activations(Reads(ContentKind::kRowGradients)),
                                    .rounded = RoundsGradients(),
                                    .clear = !AddsTo(*target),
                                    .kept_fp32 = kept.fp32,
                                    .kept_bf16 = kept.bf16});
}

absl::Status OperationBodies::Body::TiedSum() const {
  const Access& target = Writes(ContentKind::kGradient);
  return k_.accumulate(context_,
                       {.count = trained(),
                        .gradient_fp32 = At<float>(Reads(ContentKind::kEmbeddingGradient)),
                        .add = AddsTo(target),
                        .kept_fp32 = At<float>(target)});
}

absl::Status OperationBodies::Body::Norm() const {
  const GradientView gradient = GradientAt(Reads(ContentKind::kGradient));
  double* partials = At<double>(Writes(ContentKind::kNormPartials));
  absl::Status status;
  ForEachTrainedSlice(chunks_, op_.chunk, [&](const TensorSlice& slice) {
    if (!status.ok()) return;
    status = k_.squared_norm(
        context_,
        {.count = static_cast<int64_t>(slice.count),
         .block = static_cast<int64_t>(slice.norm_block),
         .fp32 = gradient.fp32 == nullptr ? nullptr : gradient.fp32 + slice.trained_offset,
         .bf16 = gradient.bf16 == nullptr ? nullptr : gradient.bf16 + slice.trained_offset,
         .partials = partials});
    partials += NormBlocksOf(slice);
  });
  return status;
}

// Squared norms of the tensors, from the partials of all chunks in parameter order.
void OperationBodies::Body::ReportNorms(StepResult& result) const {
  double total = 0;
  std::vector<double> squares(o_.tensor_names_.size());
  auto tensor = o_.tensor_of_slice_.begin();
  // Backward carries a NaN to all earlier tensors: the last one in the model is where it came from.
  std::string culprit;
  for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
    if (chunks_.chunks[c].frozen()) continue;
    const double* partials = At<double>(Reads(ContentKind::kNormPartials, c));
    ForEachTrainedSlice(chunks_, c, [&](const TensorSlice& slice) {
      double& square = squares[static_cast<size_t>(*tensor++)];
      const uint64_t blocks = NormBlocksOf(slice);
      for (uint64_t block = 0; block < blocks; ++block) {
        square += partials[block];
        total += partials[block];
      }
      partials += blocks;
      if (!std::isfinite(square)) culprit = slice.tensor->name;
    });
  }
  if (!culprit.empty() && result.non_finite.empty()) {
    result.non_finite = StrCat("the gradient of ", culprit);
  }
  result.gradient_norm = std::sqrt(total);
  result.norms.clear();
  for (const double square : squares) result.norms.push_back(std::sqrt(square));
}

// Adds up what the routers of all micro-batches chose. The auxiliary loss of a micro-batch is
//   experts x sum over the experts of (share of the tokens that chose it) x (mean probability)
// over all routers and all tokens that are not padding. It is 1 x experts_per_token where all
// experts are chosen alike.
void OperationBodies::Body::ReportRouting(StepResult& result) const {
  if (chunks_.routers == 0) return;
  const auto experts = static_cast<size_t>(o_.spec_.experts.experts);
  result.experts = o_.spec_.experts.experts;
  result.experts_per_token = o_.spec_.experts.experts_per_token;
  result.expert_counts.assign(static_cast<size_t>(chunks_.routers) * experts, 0);
  for (const Access& access : call_.phase.AccessesOf(op_)) {
    if (access.content.kind != ContentKind::kRouterSums) continue;
    std::vector<int64_t> counts(experts, 0);
    std::vector<double> probabilities(experts, 0);
    int64_t pairs = 0;
    for (int32_t router = 0; router < chunks_.routers; ++router) {
      const RouterSums sums = SumsOf(access, router);
      for (size_t e = 0; e < experts; ++e) {
        counts[e] += sums.counts[e];
        probabilities[e] += sums.probabilities[e];
        pairs += sums.counts[e];
        result.expert_counts[static_cast<size_t>(router) * experts + e] += sums.counts[e];
      }
    }
    if (pairs == 0) continue;
    const double routed =
        static_cast<double>(pairs) / static_cast<double>(result.experts_per_token);
    double balance = 0;
    for (size_t e = 0; e < experts; ++e) {
      balance += static_cast<double>(counts[e]) / routed * (probabilities[e] / routed);
    }
    result.router_aux_loss +=
        static_cast<double>(experts) * balance / static_cast<double>(job_.accumulation);
  }
  if (!std::isfinite(result.router_aux_loss) && result.non_finite.empty()) {
    result.non_finite = "the probabilities of a router";
  }
}

absl::Status OperationBodies::Body::ClipFactor() const {
  StepResult& result = call_.result;
  result = {.number = call_.input.number, .counted = call_.input.counted};
  double loss = 0;
  for (int32_t mb = 0; mb < static_cast<int32_t>(job_.accumulation); ++mb) {
    double sum = 0;
    for (const Access& access : call_.phase.AccessesOf(op_)) {
      if (access.content.kind == ContentKind::kLoss && access.content.b == mb) {
        sum = At<LossSum>(access)->sum;
      }
    }
    if (!std::isfinite(sum) && result.non_finite.empty()) {
      result.non_finite = StrCat("the loss of micro-batch ", mb);
    }
    loss += sum;
  }
  result.loss = result.counted == 0 ? 0 : loss / static_cast<double>(result.counted);
  ReportNorms(result);
  ReportRouting(result);
  // As torch.nn.utils.clip_grad_norm_ has it.
  if (job_.clip_norm > 0) {
    result.clip_factor =
        static_cast<float>(std::min(1.0, job_.clip_norm / (result.gradient_norm + 1e-6)));
  }
  if (const StepResult* before = call_.previous_result; before != nullptr) {
    result.ended = before->ended || (call_.input.ends_at_non_finite && !before->non_finite.empty());
  }
  result.applied = result.non_finite.empty() && result.counted > 0 && !result.ended;
  *At<ClipRecord>(Writes(ContentKind::kClipFactor)) = {.norm = result.gradient_norm,
                                                       .factor = result.clip_factor,
                                                       .applies = result.applied ? 1u : 0u};
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::ClipGradient() const {
  const ClipRecord& clip = *At<ClipRecord>(Reads(ContentKind::kClipFactor));
  return k_.scale(context_, {.count = trained(),
                             .factor = clip.applies != 0 ? clip.factor : 1.0f,
                             .values = At<float>(Writes(ContentKind::kClippedGradient))});
}

int64_t OperationBodies::StepOfUpdate(const Call& call) {
  for (const Access& access : call.phase.AccessesOf(call.operation)) {
    const bool gradient = access.content.kind == ContentKind::kGradient ||
                          access.content.kind == ContentKind::kClippedGradient;
    if (gradient && access.mode == AccessMode::kRead) {
      return (access.age == 0 ? call.input : call.previous_input).number;
    }
  }
  CHECK(false);
  return 0;
}

absl::Status OperationBodies::Body::Adam() const {
  const Access* clipped = Find(AccessMode::kRead, ContentKind::kClippedGradient);
  const Access& source = clipped != nullptr ? *clipped : Reads(ContentKind::kGradient);
  const StepInput& step = source.age == 0 ? call_.input : call_.previous_input;
  const Access* clip_access = Find(AccessMode::kRead, ContentKind::kClipFactor);
  const Access* late = Find(AccessMode::kWrite, ContentKind::kUpdateFaults);
  float factor = 1.0f;
  bool applies = true;
  if (clip_access != nullptr) {
    const ClipRecord& clip = *At<ClipRecord>(*clip_access);
    applies = clip.applies != 0;
    if (!applies && late == nullptr) return absl::OkStatus();
    if (clipped == nullptr) factor = clip.factor;
  }
  const GradientView gradient = GradientAt(source);
  uint16_t* hi = At<uint16_t>(*UpdatesIn(BufferKind::kWeightsHi));
  const Access* low = UpdatesIn(BufferKind::kWeightsLo);
  int16_t* lo = low == nullptr ? nullptr : At<int16_t>(*low);
  const Access* resident = UpdatesIn(BufferKind::kResidentWeights);
  float* weights = resident == nullptr ? nullptr : At<float>(*resident);
  std::byte* moments = At<std::byte>(Writes(ContentKind::kMoments));
  const MomentLayout layout(o_.schedule_, op_.chunk);
  uint64_t* fault = late == nullptr ? nullptr : At<uint64_t>(*late);  // of the next slice
  absl::Status status;
  ForEachTrainedSlice(chunks_, op_.chunk, [&](const TensorSlice& slice) {
    if (!status.ok()) return;
    const bool decays = job_.decay_all || slice.tensor->decays;
    const auto parts = layout.PartsOf(slice);
    status = k_.adam_update(
        context_,
        {.count = applies ? static_cast<int64_t>(slice.count) : 0,  // then it says: no fault
         .first = static_cast<int64_t>(slice.first_in_part()),
         .key = TensorKey(static_cast<uint64_t>(job_.seed), slice.tensor->name, slice.part),
         .constants = AdamConstantsOf({.learning_rate = step.learning_rate,
                                       .beta1 = job_.beta1,
                                       .beta2 = job_.beta2,
                                       .epsilon = job_.epsilon,
                                       .weight_decay = decays ? job_.weight_decay : 0.0,
                                       .step = step.number}),
         .step = step.number,
         .clip = factor,
         .gradient_fp32 = gradient.fp32 == nullptr ? nullptr : gradient.fp32 + slice.trained_offset,
         .gradient_bf16 = gradient.bf16 == nullptr ? nullptr : gradient.bf16 + slice.trained_offset,
         .hi = hi + slice.offset,
         .lo = lo == nullptr ? nullptr : lo + LowHalfOffset(job_, slice),
         .moments = layout.type(),
         .m = moments + parts[0].offset,
         .v = moments + parts[1].offset,
         .m_scales = reinterpret_cast<float*>(moments + parts[2].offset),
         .v_scales = reinterpret_cast<float*>(moments + parts[3].offset),
         .weights = weights == nullptr ? nullptr : weights + slice.offset,
         .weights_from_hi = job_.compute_type == NumberType::kBf16 || lo == nullptr,
         .first_refused = fault == nullptr ? nullptr : fault++});
    if (!status.ok()) status = FailedUpdate(slice, status);
  });
  return status;
}

// Reports a refused update of the device, which AdamUpdateHost reports at once.
absl::Status OperationBodies::Body::CheckUpdate() const {
  const uint64_t* fault = At<uint64_t>(Reads(ContentKind::kUpdateFaults));
  absl::Status status;
  ForEachTrainedSlice(chunks_, op_.chunk, [&](const TensorSlice& slice) {
    const uint64_t index = *fault++;
    if (index == kNothingRefused || !status.ok()) return;
    status = FailedUpdate(slice, RefusedUpdate(index));
  });
  return status;
}

}  // namespace horizon
