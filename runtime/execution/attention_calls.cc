// The template of an attention stage: q, k, v, attention over the heads, output projection.
#include <cmath>

#include "common/check.h"
#include "common/status_macros.h"
#include "model/rotary_tables.h"
#include "model/stages/attention.h"
#include "runtime/execution/stage_calls.h"

namespace horizon {
namespace {

class AttentionCalls : public BranchCalls {
 public:
  AttentionCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units,
                 ConstValues weights, const KernelContext& context)
      : BranchCalls(shapes, stage, units, weights, context),
        layer_(shapes.spec.layers[static_cast<size_t>(stage.layer)]) {}

  absl::Status Forward(const StageForward& args) {
    StageArrays arrays = ForwardArrays(args, AllTokens());
    const Branch branch(arrays);
    const Kept kept(arrays);
    RETURN_IF_ERROR(arrays.status());
    RETURN_IF_ERROR(KeepInput(args));
    const ConstValues x = ProjectionInput(branch, args.input);
    if (HasUnit(kQueryUnit)) {
      RETURN_IF_ERROR(NormInput(AllTokens(), branch, args.input));
      RETURN_IF_ERROR(Linear(AllTokens(), x, Query(), kept.q));
      RETURN_IF_ERROR(NormAndRotate(Queries(), kept.q, kept.q_before, kept.q_inverse_rms));
    }
    if (HasUnit(kKeyUnit)) {
      RETURN_IF_ERROR(Linear(AllTokens(), x, Key(), kept.k));
      RETURN_IF_ERROR(NormAndRotate(Keys(), kept.k, kept.k_before, kept.k_inverse_rms));
    }
    if (HasUnit(kValueUnit)) RETURN_IF_ERROR(Linear(AllTokens(), x, Value(), kept.v));
    if (!HasUnit(kOutputUnit)) return absl::OkStatus();
    RETURN_IF_ERROR(Attend(args, kept));
    return FinishForward(AllTokens(), args, branch, kept.attended, Output());
  }

  absl::Status Backward(const StageBackward& args) {
    gradient_ = args.gradient;
    StageArrays arrays = BackwardArrays(args, AllTokens());
    const Branch branch(arrays);
    const Kept kept(arrays);
    const Values attended_gradient = arrays.Get(ArrayRole::kAttendedGradient);
    const Values dq = arrays.Get(ArrayRole::kQueryGradient);
    const Values dk = arrays.Get(ArrayRole::kKeyGradient);
    const Values dv = arrays.Get(ArrayRole::kValueGradient);
    float* output_dot = arrays.GetFp32(ArrayRole::kOutputDot);
    gradient_sum_ = arrays.GetFp32IfAny(ArrayRole::kWeightGradientSum);
    RETURN_IF_ERROR(arrays.status());
    const ConstValues x = ProjectionInput(branch, branch.input);
    if (HasUnit(kOutputUnit)) {
      ConstValues gradient;
      RETURN_IF_ERROR(StartBackward(AllTokens(), args, branch, gradient));
      if (GoesBelow(BackwardDepth::kOutputProjection)) {
        RETURN_IF_ERROR(InputGradient(AllTokens(), gradient, Output(), attended_gradient));
      }
      RETURN_IF_ERROR(WeightGradients(AllTokens(), kept.attended, Output(), gradient));
    }
    if (!GoesBelow(BackwardDepth::kOutputProjection)) return absl::OkStatus();
    if (HasUnit(kOutputUnit)) {
      RETURN_IF_ERROR(s_.kernels.attention_backward(
          context_, {.shape = Shape(),
                     .records = s_.records,
                     .q = kept.q,
                     .k = kept.k,
                     .v = kept.v,
                     .sinks = Weight(TensorRole::kSinks),
                     .output = kept.attended,
                     .log_sum_exp = kept.log_sum_exp,
                     .output_gradient = attended_gradient,
                     .output_dot = output_dot,
                     .q_gradient = dq,
                     .k_gradient = dk,
                     .v_gradient = dv,
                     .sinks_gradient = GradientOf(TensorRole::kSinks)}));
    }
    const Values sum(branch.normed_gradient);
    const bool sums = GoesBelow(BackwardDepth::kInputProjections);
    if (HasUnit(kValueUnit)) {
      const bool multiplies_input =
          Trains(TensorRole::kValue) || Trains(TensorRole::kKey) || Trains(TensorRole::kQuery);
      if (multiplies_input) RETURN_IF_ERROR(RecomputeNormedInput(AllTokens(), branch, args.kept));
      if (sums) RETURN_IF_ERROR(InputGradient(AllTokens(), dv, Value(), sum));
      RETURN_IF_ERROR(WeightGradients(AllTokens(), x, Value(), dv));
    }
    if (HasUnit(kKeyUnit) && (sums || TrainsAny(Key()) || Trains(TensorRole::kKeyNorm))) {
      RETURN_IF_ERROR(NormAndRotateBackward(Keys(), dk, kept.k_before, kept.k_inverse_rms));
      if (sums) RETURN_IF_ERROR(InputGradient(AllTokens(), dk, Key(), sum, sum));
      RETURN_IF_ERROR(WeightGradients(AllTokens(), x, Key(), dk));
    }
    if (!HasUnit(kQueryUnit)) return absl::OkStatus();
    if (sums || TrainsAny(Query()) || Trains(TensorRole::kQueryNorm)) {
      RETURN_IF_ERROR(NormAndRotateBackward(Queries(), dq, kept.q_before, kept.q_inverse_rms));
      if (sums) RETURN_IF_ERROR(InputGradient(AllTokens(), dq, Query(), sum, sum));
      RETURN_IF_ERROR(WeightGradients(AllTokens(), x, Query(), dq));
    }
    return FinishBackward(AllTokens(), args, branch);
  }

 private:
  // What backward reads.
  struct Kept {
    Values q, k, v, attended;
    Values q_before, k_before;  // q/k norm only, and where they are kept; else null
    float* log_sum_exp;
    float *q_inverse_rms, *k_inverse_rms;  // as q_before
    explicit Kept(StageArrays& arrays)
        : q(arrays.Get(ArrayRole::kQuery)),
          k(arrays.Get(ArrayRole::kKey)),
          v(arrays.Get(ArrayRole::kValue)),
          attended(arrays.Get(ArrayRole::kAttended)),
          q_before(arrays.GetIfAny(ArrayRole::kQueryBefore)),
          k_before(arrays.GetIfAny(ArrayRole::kKeyBefore)),
          log_sum_exp(arrays.GetFp32(ArrayRole::kLogSumExp)),
          q_inverse_rms(arrays.GetFp32IfAny(ArrayRole::kQueryInverseRms)),
          k_inverse_rms(arrays.GetFp32IfAny(ArrayRole::kKeyInverseRms)) {}
  };

  // Queries, or keys: heads that are normed and rotated.
  struct Heads {
    int64_t heads = 0;
    TensorRole norm;
    RotaryOf rotary;
  };
  Heads Queries() const { return {s_.spec.heads, TensorRole::kQueryNorm, RotaryOf::kQueries}; }
  Heads Keys() const { return {s_.spec.kv_heads, TensorRole::kKeyNorm, RotaryOf::kKeys}; }
  NormShape NormOf(const Heads& of) const {
    return {of.norm, tokens_ * QkNormRows(s_.spec, of.heads), QkNormWidth(s_.spec, of.heads)};
  }

  // The norm, where the model has one, then rotary. `before`: where the values before the norm are
  // kept; null: they are not.
  absl::Status NormAndRotate(const Heads& of, Values x, Values before, float* inverse_rms) {
    if (HasTensor(of.norm)) {
      if (before != nullptr) {
        RETURN_IF_ERROR(s_.kernels.copy_bytes(
            context_, {.bytes = tokens_ * of.heads * s_.spec.head_dim * BytesOf(s_.activations),
                       .from = x.data(),
                       .to = before.data()}));
      }
      RETURN_IF_ERROR(NormForward(NormOf(of), x, x, inverse_rms));
    }
    return Rotate(of, x, RotaryDirection::kForward);
  }

  absl::Status NormAndRotateBackward(const Heads& of, Values dx, ConstValues before,
                                     const float* inverse_rms) {
    RETURN_IF_ERROR(Rotate(of, dx, RotaryDirection::kBackward));
    if (!HasTensor(of.norm)) return absl::OkStatus();
    return NormBackward(NormOf(of), before, inverse_rms, dx, {}, dx, GradientOf(of.norm));
  }

  absl::Status Rotate(const Heads& of, Values x, RotaryDirection direction) {
    if (layer_.rope == kNoRotary) return absl::OkStatus();
    CHECK(s_.rotary_tables != nullptr);
    return s_.kernels.apply_rotary(
        context_,
        {.direction = direction,
         .tokens = tokens_,
         .heads = of.heads,
         .head_dim = s_.spec.head_dim,
         .rotary_dim = s_.spec.RotaryDimOf(s_.spec.ropes[static_cast<size_t>(layer_.rope)]),
         .records = s_.records,
         .table =
             s_.rotary_tables + s_.positions * RotaryTableBegin(s_.spec, layer_.rope, of.rotary),
         .x = x});
  }

  AttentionShape Shape() const {
    const double scale = s_.spec.attention_scale != 0
                             ? s_.spec.attention_scale
                             : 1.0 / std::sqrt(static_cast<double>(s_.spec.head_dim));
    return {.batch = s_.batch,
            .sequence = s_.sequence,
            .heads = s_.spec.heads,
            .kv_heads = s_.spec.kv_heads,
            .head_dim = s_.spec.head_dim,
            .window = layer_.sliding_window,
            .scale = static_cast<float>(scale)};
  }

  absl::Status Attend(const StageForward& args, const Kept& kept) {
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
                                                    .sinks = Weight(TensorRole::kSinks),
                                                    .output = kept.attended});
    }
    return s_.kernels.attention_forward(context_, {.shape = shape,
                                                   .records = s_.records,
                                                   .q = kept.q,
                                                   .k = kept.k,
                                                   .v = kept.v,
                                                   .sinks = Weight(TensorRole::kSinks),
                                                   .output = kept.attended,
                                                   .log_sum_exp = kept.log_sum_exp});
  }

  Matrix Query() const {
    return {TensorRole::kQuery, TensorRole::kQueryBias, hidden_, s_.spec.query_width()};
  }
  Matrix Key() const {
    return {TensorRole::kKey, TensorRole::kKeyBias, hidden_, s_.spec.key_width()};
  }
  Matrix Value() const {
    return {TensorRole::kValue, TensorRole::kValueBias, hidden_, s_.spec.key_width()};
  }
  Matrix Output() const {
    return {TensorRole::kOutput, TensorRole::kOutputBias, s_.spec.query_width(), hidden_};
  }

  const LayerSpec& layer_;
};

}  // namespace

absl::Status AttentionForwardPass(const LayerShapes& shapes, const StageForward& args,
                                  const KernelContext& context) {
  return AttentionCalls(shapes, args.stage, args.units, args.weights, context).Forward(args);
}

absl::Status AttentionBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                   const KernelContext& context) {
  return AttentionCalls(shapes, args.stage, args.units, args.weights, context).Backward(args);
}

}  // namespace horizon
