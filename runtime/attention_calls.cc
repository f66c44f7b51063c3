// The template of an attention stage: norm, q, k, v, attention over the heads, output projection.
#include <cmath>

#include "common/status_macros.h"
#include "runtime/stage_calls.h"

namespace horizon {

absl::Status StageCalls::HeadNormAndRotary(Values x, int64_t heads, TensorRole norm, Values before,
                                           float* inverse_rms) {
  if (HasTensor(norm)) {
    const int64_t rows = tokens_ * heads;
    if (before != nullptr) {
      RETURN_IF_ERROR(s_.kernels.copy_bytes(
          context_, {.bytes = rows * s_.spec.head_dim * BytesOf(s_.activations),
                     .from = x.data(),
                     .to = before.data()}));
    }
    RETURN_IF_ERROR(s_.kernels.rms_norm_forward(context_, {.rows = rows,
                                                           .width = s_.spec.head_dim,
                                                           .epsilon = epsilon(),
                                                           .x = x,
                                                           .weight = Weight(norm),
                                                           .y = x,
                                                           .inverse_rms = inverse_rms}));
  }
  return ApplyRotary(x, heads, RotaryDirection::kForward);
}

absl::Status StageCalls::HeadNormAndRotaryBackward(Values dx, int64_t heads, TensorRole norm,
                                                   ConstValues before, const float* inverse_rms) {
  RETURN_IF_ERROR(ApplyRotary(dx, heads, RotaryDirection::kBackward));
  if (!HasTensor(norm)) return absl::OkStatus();
  return s_.kernels.rms_norm_backward(context_, {.rows = tokens_ * heads,
                                                 .width = s_.spec.head_dim,
                                                 .x = before,
                                                 .inverse_rms = inverse_rms,
                                                 .weight = Weight(norm),
                                                 .y_gradient = dx,
                                                 .x_gradient = dx,
                                                 .weight_gradient = GradientOf(norm)});
}

absl::Status StageCalls::ApplyRotary(Values x, int64_t heads, RotaryDirection direction) {
  return s_.kernels.rotary(context_, {.direction = direction,
                                      .tokens = tokens_,
                                      .heads = heads,
                                      .head_dim = s_.spec.head_dim,
                                      .rotary_dim = s_.spec.head_dim,
                                      .records = s_.records,
                                      .table = s_.rotary_table,
                                      .x = x});
}

AttentionShape StageCalls::Shape() const {
  return {.batch = s_.batch,
          .sequence = s_.sequence,
          .heads = s_.spec.heads,
          .kv_heads = s_.spec.kv_heads,
          .head_dim = s_.spec.head_dim,
          .window = s_.spec.layers[stage_.layer].sliding_window,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s_.spec.head_dim)))};
}

absl::Status StageCalls::Attend(const StageForward& args, const AttentionKept& kept) {
  if (args.cache != nullptr) {
    RETURN_IF_ERROR(s_.kernels.store_keys(context_, {.cache = *args.cache,
                                                     .sequence = s_.sequence,
                                                     .records = s_.records,
                                                     .k = kept.k,
                                                     .v = kept.v}));
  }
  const AttentionShape shape = Shape();
  if (s_.decodes) {
    CHECK(args.cache != nullptr && s_.sequence == 1);
    return s_.kernels.cached_attention(context_, {.cache = *args.cache,
                                                  .heads = shape.heads,
                                                  .scale = shape.scale,
                                                  .records = s_.records,
                                                  .q = kept.q,
                                                  .output = kept.output});
  }
  return s_.kernels.attention_forward(context_, {.shape = shape,
                                                 .records = s_.records,
                                                 .q = kept.q,
                                                 .k = kept.k,
                                                 .v = kept.v,
                                                 .output = kept.output,
                                                 .log_sum_exp = kept.log_sum_exp});
}

absl::Status StageCalls::AttentionForwardPass(const StageForward& args) {
  Parts work(args.workspace, s_.activations);
  const Values normed = work.Take(tokens_ * hidden_);
  Parts kept_parts(args.kept, s_.activations);
  const Keeps keeps = args.kept.empty() ? Keeps::kNothing : Keeps::kAll;
  const AttentionKept kept(s_, keeps == Keeps::kAll ? kept_parts : work, keeps);
  if (Has(kQueryUnit)) {
    RETURN_IF_ERROR(Norm(args.input, normed, kept.inverse_rms));
    RETURN_IF_ERROR(Linear(normed, Query(), kept.q));
    RETURN_IF_ERROR(HeadNormAndRotary(kept.q, s_.spec.heads, TensorRole::kQueryNorm, kept.q_before,
                                      kept.q_inverse_rms));
  }
  if (Has(kKeyUnit)) {
    RETURN_IF_ERROR(Linear(normed, Key(), kept.k));
    RETURN_IF_ERROR(HeadNormAndRotary(kept.k, s_.spec.kv_heads, TensorRole::kKeyNorm, kept.k_before,
                                      kept.k_inverse_rms));
  }
  if (Has(kValueUnit)) RETURN_IF_ERROR(Linear(normed, Value(), kept.v));
  if (!Has(kOutputUnit)) return absl::OkStatus();
  RETURN_IF_ERROR(Attend(args, kept));
  if (args.output == nullptr) return absl::OkStatus();
  return Linear(kept.output, Output(), args.output, args.input);
}

absl::Status StageCalls::AttentionBackwardPass(const StageBackward& args) {
  Parts kept_parts(args.kept, s_.activations);
  const AttentionKept kept(s_, kept_parts, Keeps::kAll);
  Parts work(args.workspace, s_.activations);
  const Values normed = work.Take(tokens_ * hidden_);
  const Values dq = work.Take(tokens_ * query_);
  const Values dk = work.Take(tokens_ * key_);
  const Values dv = work.Take(tokens_ * key_);
  // The gradient of the output is dead when attention has gone back, before the first v, k or q.
  const auto [output_gradient, normed_gradient] =
      work.TakeAliased(tokens_ * query_, tokens_ * hidden_);
  float* output_dot = work.TakeScalars(tokens_ * s_.spec.heads);
  if (Has(kOutputUnit)) {
    RETURN_IF_ERROR(InputGradient(args.output_gradient, Output(), output_gradient));
    RETURN_IF_ERROR(WeightGradients(kept.output, Output(), args.output_gradient));
    RETURN_IF_ERROR(s_.kernels.attention_backward(context_, {.shape = Shape(),
                                                             .records = s_.records,
                                                             .q = kept.q,
                                                             .k = kept.k,
                                                             .v = kept.v,
                                                             .output = kept.output,
                                                             .log_sum_exp = kept.log_sum_exp,
                                                             .output_gradient = output_gradient,
                                                             .output_dot = output_dot,
                                                             .q_gradient = dq,
                                                             .k_gradient = dk,
                                                             .v_gradient = dv}));
  }
  if (Has(kValueUnit)) {
    RETURN_IF_ERROR(NormAgain(args.kept, kept.input, kept.inverse_rms, normed));
    RETURN_IF_ERROR(InputGradient(dv, Value(), normed_gradient));
    RETURN_IF_ERROR(WeightGradients(normed, Value(), dv));
  }
  if (Has(kKeyUnit)) {
    RETURN_IF_ERROR(HeadNormAndRotaryBackward(dk, s_.spec.kv_heads, TensorRole::kKeyNorm,
                                              kept.k_before, kept.k_inverse_rms));
    RETURN_IF_ERROR(InputGradient(dk, Key(), normed_gradient, normed_gradient));
    RETURN_IF_ERROR(WeightGradients(normed, Key(), dk));
  }
  if (!Has(kQueryUnit)) return absl::OkStatus();
  RETURN_IF_ERROR(HeadNormAndRotaryBackward(dq, s_.spec.heads, TensorRole::kQueryNorm,
                                            kept.q_before, kept.q_inverse_rms));
  RETURN_IF_ERROR(InputGradient(dq, Query(), normed_gradient, normed_gradient));
  RETURN_IF_ERROR(WeightGradients(normed, Query(), dq));
  return NormBackwardOfSum(kept.input, kept.inverse_rms, normed_gradient, normed, args);
}

}  // namespace horizon
