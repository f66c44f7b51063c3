#include "runtime/stage_calls.h"

#include "common/status_macros.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

// Where the tensors of some units lie, in parameters from the first; -1: they have none.
std::array<int64_t, kTensorRoles> OffsetsOf(const Stage& stage, UnitRange units) {
  std::array<int64_t, kTensorRoles> offsets;
  offsets.fill(-1);
  int64_t offset = 0;
  for (const TensorSpec& tensor : stage.tensors) {
    if (tensor.unit < units.begin || tensor.unit >= units.end) continue;
    offsets[static_cast<size_t>(tensor.role)] = offset;
    offset += static_cast<int64_t>(tensor.parameters);
  }
  return offsets;
}

}  // namespace

AttentionKept::AttentionKept(const LayerShapes& s, Parts& parts, Keeps keeps) {
  const int64_t tokens = s.tokens();
  const bool all = keeps == Keeps::kAll;
  const bool before = all && s.spec.qk_norm;
  if (all) input = parts.Take(tokens * s.spec.hidden);
  q = parts.Take(tokens * s.query_width());
  k = parts.Take(tokens * s.key_width());
  v = parts.Take(tokens * s.key_width());
  output = parts.Take(tokens * s.query_width());
  if (before) q_before = parts.Take(tokens * s.query_width());
  if (before) k_before = parts.Take(tokens * s.key_width());
  inverse_rms = parts.TakeScalars(tokens);
  log_sum_exp = parts.TakeScalars(tokens * s.spec.heads);
  q_inverse_rms = before ? parts.TakeScalars(tokens * s.spec.heads) : nullptr;
  k_inverse_rms = before ? parts.TakeScalars(tokens * s.spec.kv_heads) : nullptr;
}

FeedForwardKept::FeedForwardKept(const LayerShapes& s, Parts& parts, Keeps keeps) {
  const int64_t tokens = s.tokens();
  if (keeps == Keeps::kAll) input = parts.Take(tokens * s.spec.hidden);
  gate = parts.Take(tokens * s.spec.intermediate);
  up = parts.Take(tokens * s.spec.intermediate);
  inverse_rms = parts.TakeScalars(tokens);
}

FinalNormKept::FinalNormKept(const LayerShapes& s, Parts& parts, Keeps keeps) {
  if (keeps == Keeps::kAll) input = parts.Take(s.tokens() * s.spec.hidden);
  inverse_rms = parts.TakeScalars(s.tokens());
}

StageCalls::StageCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units,
                       ConstValues weights, const KernelContext& context)
    : s_(shapes),
      stage_(stage),
      units_(units),
      offsets_(OffsetsOf(stage, units)),
      weights_(weights),
      context_(context),
      tokens_(shapes.tokens()),
      hidden_(shapes.spec.hidden),
      query_(shapes.query_width()),
      key_(shapes.key_width()),
      width_(shapes.spec.intermediate) {}

absl::Status StageCalls::Linear(ConstValues x, const Matrix& matrix, Values y,
                                ConstValues initial) {
  CHECK(HasTensor(matrix.weight));
  return s_.kernels.gemm(context_, {.form = GemmForm::kForward,
                                    .m = tokens_,
                                    .n = matrix.out,
                                    .k = matrix.in,
                                    .a = x,
                                    .a_stride = matrix.in,
                                    .b = Weight(matrix.weight),
                                    .b_stride = matrix.in,
                                    .c = y,
                                    .c_stride = matrix.out,
                                    .bias = Weight(matrix.bias),
                                    .initial = initial});
}

absl::Status StageCalls::InputGradient(ConstValues dy, const Matrix& matrix, Values dx,
                                       Values initial) {
  CHECK(HasTensor(matrix.weight));
  return s_.kernels.gemm(context_, {.form = GemmForm::kInputGradient,
                                    .m = tokens_,
                                    .n = matrix.in,
                                    .k = matrix.out,
                                    .a = dy,
                                    .a_stride = matrix.out,
                                    .b = Weight(matrix.weight),
                                    .b_stride = matrix.in,
                                    .c = dx,
                                    .c_stride = matrix.in,
                                    .initial = initial});
}

absl::Status StageCalls::WeightGradients(ConstValues x, const Matrix& matrix, ConstValues dy) {
  RETURN_IF_ERROR(s_.kernels.weight_gradient(context_, {.m = matrix.out,
                                                        .n = matrix.in,
                                                        .k = tokens_,
                                                        .output_gradient = dy,
                                                        .output_stride = matrix.out,
                                                        .input = x,
                                                        .input_stride = matrix.in,
                                                        .gradient = GradientOf(matrix.weight)}));
  if (!HasTensor(matrix.bias)) return absl::OkStatus();
  return s_.kernels.bias_gradient(context_, {.tokens = tokens_,
                                             .width = matrix.out,
                                             .output_gradient = dy,
                                             .gradient = GradientOf(matrix.bias)});
}

absl::Status StageCalls::Norm(ConstValues x, Values y, float* inverse_rms) {
  return s_.kernels.rms_norm_forward(context_, {.rows = tokens_,
                                                .width = hidden_,
                                                .epsilon = epsilon(),
                                                .x = x,
                                                .weight = Weight(TensorRole::kNorm),
                                                .y = y,
                                                .inverse_rms = inverse_rms});
}

absl::Status StageCalls::NormAgain(std::span<std::byte> kept, ConstValues x,
                                   const float* inverse_rms, Values y) {
  const ConstValues weight =
      HasTensor(TensorRole::kNorm) ? Weight(TensorRole::kNorm) : ConstValues(KeptNormWeight(kept));
  return s_.kernels.rms_norm_again(context_, {.rows = tokens_,
                                              .width = hidden_,
                                              .x = x,
                                              .inverse_rms = inverse_rms,
                                              .weight = weight,
                                              .y = y});
}

absl::Status StageCalls::NormBackward(ConstValues x, const float* inverse_rms, ConstValues dy,
                                      ConstValues residual, Values dx) {
  return s_.kernels.rms_norm_backward(context_, {.rows = tokens_,
                                                 .width = hidden_,
                                                 .x = x,
                                                 .inverse_rms = inverse_rms,
                                                 .weight = Weight(TensorRole::kNorm),
                                                 .y_gradient = dy,
                                                 .residual_gradient = residual,
                                                 .x_gradient = dx,
                                                 .weight_gradient = GradientOf(TensorRole::kNorm)});
}

absl::Status StageCalls::NormBackwardOfSum(ConstValues x, const float* inverse_rms, float* sum,
                                           Values rounded, const StageBackward& args) {
  ConstValues gradient(sum);
  if (s_.activations == ValueType::kBf16) {
    RETURN_IF_ERROR(s_.kernels.store_gradient(
        context_,
        {.count = tokens_ * hidden_, .sum = sum, .gradient = {.leaving = rounded.bf16()}}));
    gradient = rounded;
  }
  return NormBackward(x, inverse_rms, gradient, args.output_gradient, args.input_gradient);
}

Values StageCalls::KeptNormWeight(std::span<std::byte> kept) const {
  const int64_t offset = KeptBytes(s_, stage_);
  CHECK(offset + hidden_ * BytesOf(weights_.type()) <= static_cast<int64_t>(kept.size()));
  return {kept.data() + offset, weights_.type()};
}

// The input, and of a stage in shards the weights of its norm.
absl::Status StageCalls::KeepInput(const StageForward& args) {
  if (args.kept.empty() || !Has(0)) return absl::OkStatus();
  if (args.kept.data() != args.input.data()) {
    RETURN_IF_ERROR(
        s_.kernels.copy_bytes(context_, {.bytes = tokens_ * hidden_ * BytesOf(s_.activations),
                                         .from = args.input.data(),
                                         .to = args.kept.data()}));
  }
  if (!in_shards()) return absl::OkStatus();
  return s_.kernels.copy_bytes(context_, {.bytes = hidden_ * BytesOf(weights_.type()),
                                          .from = Weight(TensorRole::kNorm).data(),
                                          .to = KeptNormWeight(args.kept).data()});
}

absl::Status StageCalls::Forward(const StageForward& args) {
  RETURN_IF_ERROR(KeepInput(args));
  switch (stage_.kind) {
    case StageKind::kAttention:
      return AttentionForwardPass(args);
    case StageKind::kFeedForward:
      return FeedForwardForwardPass(args);
    case StageKind::kFinalNorm:
      return FinalNormForwardPass(args);
    default:
      return absl::UnimplementedError("this stage has no layer template");
  }
}

absl::Status StageCalls::Backward(const StageBackward& args) {
  gradient_ = args.gradient;
  switch (stage_.kind) {
    case StageKind::kAttention:
      return AttentionBackwardPass(args);
    case StageKind::kFeedForward:
      return FeedForwardBackwardPass(args);
    case StageKind::kFinalNorm:
      return FinalNormBackwardPass(args);
    default:
      return absl::UnimplementedError("this stage has no layer template");
  }
}

absl::Status StageCalls::FinalNormForwardPass(const StageForward& args) {
  Parts work(args.workspace, s_.activations);
  Parts kept_parts(args.kept, s_.activations);
  const Keeps keeps = args.kept.empty() ? Keeps::kNothing : Keeps::kAll;
  // Without an output only the inverse rms is wanted, and the values go where nobody looks.
  const Values y = args.output == nullptr ? work.Take(tokens_ * hidden_) : args.output;
  const FinalNormKept kept(s_, keeps == Keeps::kAll ? kept_parts : work, keeps);
  return Norm(args.input, y, kept.inverse_rms);
}

absl::Status StageCalls::FinalNormBackwardPass(const StageBackward& args) {
  Parts kept_parts(args.kept, s_.activations);
  const FinalNormKept kept(s_, kept_parts, Keeps::kAll);
  return NormBackward(kept.input, kept.inverse_rms, args.output_gradient, {}, args.input_gradient);
}

absl::Status ForwardOfStage(const LayerShapes& shapes, const StageForward& args,
                            const KernelContext& context) {
  return StageCalls(shapes, args.stage, args.units, args.weights, context).Forward(args);
}

absl::Status BackwardOfStage(const LayerShapes& shapes, const StageBackward& args,
                             const KernelContext& context) {
  return StageCalls(shapes, args.stage, args.units, args.weights, context).Backward(args);
}

int64_t KeptBytes(const LayerShapes& shapes, const Stage& stage) {
  Parts parts(shapes.activations);
  switch (stage.kind) {
    case StageKind::kAttention:
      AttentionKept(shapes, parts, Keeps::kAll);
      break;
    case StageKind::kFeedForward:
      FeedForwardKept(shapes, parts, Keeps::kAll);
      break;
    case StageKind::kFinalNorm:
      FinalNormKept(shapes, parts, Keeps::kAll);
      break;
    default:
      break;
  }
  constexpr auto kAlignment = static_cast<int64_t>(kActivationAlignment);
  return (parts.taken() + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace horizon
