#include "runtime/execution/stage_calls.h"

#include "common/check.h"
#include "common/status_macros.h"
#include "model/stages/branch.h"

namespace horizon {

StageCalls::StageCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units,
                       ConstValues weights, const KernelContext& context)
    : s_(shapes),
      stage_(stage),
      template_(shapes.templates.Of(stage.kind)),
      units_(units),
      weights_(weights),
      context_(context),
      tokens_(shapes.tokens()),
      hidden_(shapes.spec.hidden),
      depth_(stage.backward_depth()) {}

GradientOut StageCalls::GradientOf(TensorRole role) const {
  int64_t offset = 0;
  if (role == TensorRole::kNormAfter) {  // the last tensor of its stage
    if (!Trains(role) || !HasTensor(role)) return {};
    return gradient_.From(static_cast<int64_t>(TrainedInUnits(stage_, units_)) - hidden_);
  }
  for (const TensorSpec& tensor : stage_.tensors) {
    if (!tensor.trained || !HasUnit(tensor.unit)) continue;
    if (tensor.role == role) return gradient_.From(offset);
    offset += static_cast<int64_t>(tensor.parameters);
  }
  return {};
}

GradientOut StageCalls::GradientOf(TensorRole role, const TokenRange& tokens) const {
  if (tokens.count == tokens_ || !Trains(role)) return GradientOf(role);
  CHECK(gradient_sum_ != nullptr && !in_shards());
  return {.sum = gradient_sum_ + template_.TensorAt(role).offset, .add = tokens.begin > 0};
}

absl::Status StageCalls::StoreGradientSums() {
  if (gradient_sum_ == nullptr) return absl::OkStatus();
  for (const TensorSpec& tensor : stage_.tensors) {
    if (!tensor.trained) continue;
    RETURN_IF_ERROR(StoreGradientSum(static_cast<int64_t>(tensor.parameters),
                                     gradient_sum_ + template_.TensorAt(tensor.role).offset,
                                     GradientOf(tensor.role)));
  }
  return absl::OkStatus();
}

absl::Status StageCalls::StoreGradientSum(int64_t count, const float* sum,
                                          const GradientOut& gradient) {
  return s_.kernels.store_gradient(context_, {.count = count, .sum = sum, .gradient = gradient});
}

absl::Status StageCalls::Linear(const TokenRange& tokens, ConstValues x, const Matrix& matrix,
                                Values y, ConstValues initial) {
  CHECK(HasTensor(matrix.weight));
  return ForEachPiece(tokens.count, [&](const TokenRange& piece) {
    return s_.kernels.gemm(context_, {.form = GemmForm::kForward,
                                      .m = piece.count,
                                      .n = matrix.out,
                                      .k = matrix.in,
                                      .a = x.From(piece.begin * matrix.in),
                                      .a_stride = matrix.in,
                                      .b = Weight(matrix.weight),
                                      .b_stride = matrix.in,
                                      .c = y.From(piece.begin * matrix.out),
                                      .c_stride = matrix.out,
                                      .bias = Weight(matrix.bias),
                                      .initial = initial.From(piece.begin * matrix.out)});
  });
}

absl::Status StageCalls::InputGradient(const TokenRange& tokens, ConstValues dy,
                                       const Matrix& matrix, Values dx, Values initial) {
  CHECK(HasTensor(matrix.weight));
  return ForEachPiece(tokens.count, [&](const TokenRange& piece) {
    return s_.kernels.gemm(context_, {.form = GemmForm::kInputGradient,
                                      .m = piece.count,
                                      .n = matrix.in,
                                      .k = matrix.out,
                                      .a = dy.From(piece.begin * matrix.out),
                                      .a_stride = matrix.out,
                                      .b = Weight(matrix.weight),
                                      .b_stride = matrix.in,
                                      .c = dx.From(piece.begin * matrix.in),
                                      .c_stride = matrix.in,
                                      .initial = initial.From(piece.begin * matrix.in)});
  });
}

absl::Status StageCalls::WeightGradients(const TokenRange& tokens, ConstValues x,
                                         const Matrix& matrix, ConstValues dy) {
  if (Trains(matrix.weight)) {
    const bool several = tokens.count > piece_tokens();
    CHECK(!several || gradient_sum_ != nullptr);
    RETURN_IF_ERROR(ForEachPiece(tokens.count, [&](const TokenRange& piece) {
      return s_.kernels.weight_gradient(
          context_, {.m = matrix.out,
                     .n = matrix.in,
                     .k = piece.count,
                     .output_gradient = dy.From(piece.begin * matrix.out),
                     .output_stride = matrix.out,
                     .input = x.From(piece.begin * matrix.in),
                     .input_stride = matrix.in,
                     .gradient = several ? GradientOut{.sum = gradient_sum_, .add = piece.begin > 0}
                                         : GradientOf(matrix.weight, tokens)});
    }));
    if (several) {
      RETURN_IF_ERROR(
          StoreGradientSum(matrix.out * matrix.in, gradient_sum_, GradientOf(matrix.weight)));
    }
  }
  if (!Trains(matrix.bias)) return absl::OkStatus();
  return s_.kernels.bias_gradient(context_, {.tokens = tokens.count,
                                             .width = matrix.out,
                                             .output_gradient = dy,
                                             .gradient = GradientOf(matrix.bias, tokens)});
}

absl::Status StageCalls::NormForward(const NormShape& shape, ConstValues x, Values y,
                                     float* inverse_rms) {
  return s_.kernels.rms_norm_forward(context_, {.rows = shape.rows,
                                                .width = shape.width,
                                                .epsilon = static_cast<float>(s_.spec.norm_epsilon),
                                                .weight_offset = weight_offset(),
                                                .x = x,
                                                .weight = Weight(shape.role),
                                                .y = y,
                                                .inverse_rms = inverse_rms});
}

absl::Status StageCalls::NormBackward(const NormShape& shape, ConstValues x,
                                      const float* inverse_rms, ConstValues dy,
                                      ConstValues residual, Values dx,
                                      const GradientOut& weight_gradient) {
  return s_.kernels.rms_norm_backward(context_, {.rows = shape.rows,
                                                 .width = shape.width,
                                                 .weight_offset = weight_offset(),
                                                 .x = x,
                                                 .inverse_rms = inverse_rms,
                                                 .weight = Weight(shape.role),
                                                 .y_gradient = dy,
                                                 .residual_gradient = residual,
                                                 .x_gradient = dx,
                                                 .weight_gradient = weight_gradient});
}

Values StageCalls::KeptNormWeight(std::span<std::byte> kept) const {
  const auto offset = static_cast<int64_t>(template_.kept_bytes().value());
  CHECK(offset + hidden_ * BytesOf(weights_.type()) <= static_cast<int64_t>(kept.size()));
  return {kept.data() + offset, weights_.type()};
}

absl::Status StageCalls::KeepInput(const StageForward& args) {
  if (args.kept.empty() || !HasUnit(0)) return absl::OkStatus();
  if (args.kept.data() != args.input.data()) {
    RETURN_IF_ERROR(
        s_.kernels.copy_bytes(context_, {.bytes = tokens_ * hidden_ * BytesOf(s_.activations),
                                         .from = args.input.data(),
                                         .to = args.kept.data()}));
  }
  if (!in_shards() || !HasTensor(TensorRole::kNorm)) return absl::OkStatus();
  return s_.kernels.copy_bytes(context_, {.bytes = hidden_ * BytesOf(weights_.type()),
                                          .from = Weight(TensorRole::kNorm).data(),
                                          .to = KeptNormWeight(args.kept).data()});
}

BranchCalls::Branch::Branch(StageArrays& arrays)
    : input(arrays.GetIfAny(ArrayRole::kInput)),
      normed(arrays.GetIfAny(ArrayRole::kNormed)),
      projected(arrays.GetIfAny(ArrayRole::kProjected)),
      branch(arrays.GetIfAny(ArrayRole::kBranch)),
      projected_gradient(arrays.GetIfAny(ArrayRole::kProjectedGradient)),
      inverse_rms(arrays.GetFp32IfAny(ArrayRole::kInverseRms)),
      projected_inverse_rms(arrays.GetFp32IfAny(ArrayRole::kProjectedInverseRms)),
      normed_gradient(arrays.GetFp32IfAny(ArrayRole::kNormedGradient)) {}

ConstValues BranchCalls::ProjectionInput(const Branch& arrays, ConstValues input) const {
  return s_.spec.norm_before() ? ConstValues(arrays.normed) : input;
}

absl::Status BranchCalls::NormInput(const TokenRange& tokens, const Branch& arrays,
                                    ConstValues input) {
  if (!s_.spec.norm_before()) return absl::OkStatus();
  return NormForward(NormBefore(tokens), From(input, tokens), arrays.normed, arrays.inverse_rms);
}

absl::Status BranchCalls::RecomputeNormedInput(const TokenRange& tokens, const Branch& arrays,
                                               std::span<std::byte> kept) {
  if (!s_.spec.norm_before()) return absl::OkStatus();
  const ConstValues weight =
      HasTensor(TensorRole::kNorm) ? Weight(TensorRole::kNorm) : ConstValues(KeptNormWeight(kept));
  return s_.kernels.rms_norm_recompute(context_, {.rows = tokens.count,
                                                  .width = hidden_,
                                                  .weight_offset = weight_offset(),
                                                  .x = arrays.input,
                                                  .inverse_rms = arrays.inverse_rms,
                                                  .weight = weight,
                                                  .y = arrays.normed});
}

absl::Status BranchCalls::Project(const TokenRange& tokens, const Branch& arrays, ConstValues x,
                                  const Matrix& projection) {
  RETURN_IF_ERROR(Linear(tokens, x, projection, arrays.projected));
  return NormOutput(tokens, arrays);
}

absl::Status BranchCalls::NormOutput(const TokenRange& tokens, const Branch& arrays) {
  if (!s_.spec.norm_after()) return absl::OkStatus();
  return NormForward(NormAfter(tokens), arrays.projected, arrays.branch,
                     arrays.projected_inverse_rms);
}

absl::Status BranchCalls::FinishForward(const TokenRange& tokens, const StageForward& args,
                                        const Branch& arrays, ConstValues x,
                                        const Matrix& projection) {
  const bool wanted = args.output != nullptr;
  if (!HasProjectedArray(s_.spec)) {
    return wanted
               ? Linear(tokens, x, projection, From(args.output, tokens), From(args.input, tokens))
               : absl::OkStatus();
  }
  // Recompute without an output still makes what the norm's backward reads.
  if (!wanted && !s_.spec.norm_after()) return absl::OkStatus();
  RETURN_IF_ERROR(Project(tokens, arrays, x, projection));
  return wanted ? AddToResidual(tokens, args, arrays) : absl::OkStatus();
}

absl::Status BranchCalls::FinishForward(const StageForward& args, const Branch& arrays,
                                        const float* sum) {
  const bool wanted = args.output != nullptr;
  if (!HasProjectedArray(s_.spec)) {
    return wanted ? s_.kernels.residual_add(context_, {.count = tokens_ * hidden_,
                                                       .residual = args.input,
                                                       .branch = sum,
                                                       .output = args.output})
                  : absl::OkStatus();
  }
  if (!wanted && !s_.spec.norm_after()) return absl::OkStatus();
  RETURN_IF_ERROR(s_.kernels.residual_add(
      context_, {.count = tokens_ * hidden_, .branch = sum, .output = arrays.projected}));
  RETURN_IF_ERROR(NormOutput(AllTokens(), arrays));
  return wanted ? AddToResidual(AllTokens(), args, arrays) : absl::OkStatus();
}

absl::Status BranchCalls::AddToResidual(const TokenRange& tokens, const StageForward& args,
                                        const Branch& arrays) {
  return s_.kernels.residual_add(context_,
                                 {.count = tokens.count * hidden_,
                                  .residual = From(args.input, tokens),
                                  .branch = s_.spec.norm_after() ? arrays.branch : arrays.projected,
                                  .scale = static_cast<float>(s_.spec.residual_multiplier),
                                  .output = From(args.output, tokens)});
}

absl::Status BranchCalls::StartBackward(const TokenRange& tokens, const StageBackward& args,
                                        const Branch& arrays, ConstValues& gradient) {
  gradient = From(args.output_gradient, tokens);
  if (!HasProjectedArray(s_.spec)) return absl::OkStatus();
  if (s_.spec.residual_multiplier != 1.0) {
    RETURN_IF_ERROR(
        s_.kernels.residual_add(context_, {.count = tokens.count * hidden_,
                                           .branch = gradient,
                                           .scale = static_cast<float>(s_.spec.residual_multiplier),
                                           .output = arrays.projected_gradient}));
    gradient = arrays.projected_gradient;
  }
  if (s_.spec.norm_after()) {
    RETURN_IF_ERROR(NormBackward(NormAfter(tokens), arrays.projected, arrays.projected_inverse_rms,
                                 gradient, {}, arrays.projected_gradient,
                                 GradientOf(TensorRole::kNormAfter, tokens)));
    gradient = arrays.projected_gradient;
  }
  return absl::OkStatus();
}

absl::Status BranchCalls::FinishBackward(const TokenRange& tokens, const StageBackward& args,
                                         const Branch& arrays) {
  if (!GoesBelow(BackwardDepth::kInputProjections)) return absl::OkStatus();
  const ConstValues output_gradient = From(args.output_gradient, tokens);
  const Values input_gradient = From(args.input_gradient, tokens);
  if (!s_.spec.norm_before()) {
    return s_.kernels.residual_add(context_, {.count = tokens.count * hidden_,
                                              .residual = output_gradient,
                                              .branch = arrays.normed_gradient,
                                              .output = input_gradient});
  }
  // The sum is an activation from here on, in the place of the normed input where that is bf16.
  ConstValues gradient(arrays.normed_gradient);
  if (s_.activations == ValueType::kBf16) {
    RETURN_IF_ERROR(StoreGradientSum(tokens.count * hidden_, arrays.normed_gradient,
                                     {.bf16 = arrays.normed.bf16()}));
    gradient = arrays.normed;
  }
  return NormBackward(NormBefore(tokens), arrays.input, arrays.inverse_rms, gradient,
                      output_gradient, input_gradient, GradientOf(TensorRole::kNorm, tokens));
}

absl::Status RunStageForward(const LayerShapes& shapes, const StageForward& args,
                             const KernelContext& context) {
  switch (args.stage.kind) {
    case StageKind::kAttention:
      return AttentionForwardPass(shapes, args, context);
    case StageKind::kFeedForward:
      return FeedForwardForwardPass(shapes, args, context);
    case StageKind::kExperts:
      return ExpertsForwardPass(shapes, args, context);
    case StageKind::kFinalNorm:
      return FinalNormForwardPass(shapes, args, context);
    default:
      return absl::UnimplementedError("this stage has no layer template");
  }
}

absl::Status RunStageBackward(const LayerShapes& shapes, const StageBackward& args,
                              const KernelContext& context) {
  switch (args.stage.kind) {
    case StageKind::kAttention:
      return AttentionBackwardPass(shapes, args, context);
    case StageKind::kFeedForward:
      return FeedForwardBackwardPass(shapes, args, context);
    case StageKind::kExperts:
      return ExpertsBackwardPass(shapes, args, context);
    case StageKind::kFinalNorm:
      return FinalNormBackwardPass(shapes, args, context);
    default:
      return absl::UnimplementedError("this stage has no layer template");
  }
}

}  // namespace horizon
