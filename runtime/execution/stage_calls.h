#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"
#include "model/stages.h"
#include "runtime/execution/layer_template.h"
#include "runtime/execution/stage_arrays.h"

namespace horizon {

// What the templates of the stages (layer_template.h) are written with: tensors and arrays by their
// role, and the calls of kernels that stages have in common.
class StageCalls {
 public:
  StageCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units, ConstValues weights,
             const KernelContext& context);

 protected:
  bool Has(int64_t unit) const { return units_.begin <= unit && unit < units_.end; }
  bool in_shards() const { return units_.end - units_.begin != stage_.units; }
  bool HasTensor(TensorRole role) const {
    const StageTemplate::TensorPlace& place = template_.TensorAt(role);
    return place.offset >= 0 && Has(place.unit);
  }
  // Null where the model has no such tensor, or another shard has it.
  ConstValues Weight(TensorRole role) const {
    return HasTensor(role) ? weights_.From(OffsetOf(role)) : ConstValues();
  }
  bool Trains(TensorRole role) const {
    return stage_.trained_roles.test(static_cast<size_t>(role));
  }
  // Backward computes more than the gradients of tensors at this depth.
  bool GoesBelow(BackwardDepth depth) const { return depth_ > depth; }
  // Where the gradient of a trained tensor goes; nowhere for a frozen one.
  GradientOut GradientOf(TensorRole role) const;

  StageArrays ForwardArrays(const StageForward& args) const {
    return {stage_,
            template_,
            args.kept.empty() ? ScratchOf::kForward : ScratchOf::kKeepingForward,
            args.kept,
            args.workspace,
            s_.activations};
  }
  StageArrays BackwardArrays(const StageBackward& args) const {
    return {stage_, template_, ScratchOf::kBackward, args.kept, args.workspace, s_.activations};
  }

  // A matrix [out, in] of the stage and its bias.
  struct Matrix {
    TensorRole weight;
    TensorRole bias;
    int64_t in = 0;
    int64_t out = 0;
  };
  // y[tokens, out] = x[tokens, in] W^T (+ bias) (+ initial)
  absl::Status Linear(ConstValues x, const Matrix& matrix, Values y, ConstValues initial = {});
  // dx[tokens, in] = dy[tokens, out] W (+ initial)
  absl::Status InputGradient(ConstValues dy, const Matrix& matrix, Values dx, Values initial = {});
  // The gradients of weight and bias, of those that are trained.
  absl::Status WeightGradients(ConstValues x, const Matrix& matrix, ConstValues dy);
  bool TrainsAny(const Matrix& matrix) const {
    return Trains(matrix.weight) || Trains(matrix.bias);
  }

  // RMSNorm over `rows` rows of `width` values, with the weights of `role`.
  struct NormShape {
    TensorRole role;
    int64_t rows = 0;
    int64_t width = 0;
  };
  absl::Status NormForward(const NormShape& shape, ConstValues x, Values y, float* inverse_rms);
  // `residual`, where it is not null, is added to dx. dx may be null: it is not wanted.
  absl::Status NormBackward(const NormShape& shape, ConstValues x, const float* inverse_rms,
                            ConstValues dy, ConstValues residual, Values dx);

  // The input is kept, and of a stage in shards the weights of its norm.
  absl::Status KeepInput(const StageForward& args);

  // Where a stage in shards keeps the weights of its norm.
  Values KeptNormWeight(std::span<std::byte> kept) const;
  float weight_offset() const { return s_.spec.norm_adds_one ? 1.0F : 0.0F; }

  const LayerShapes& s_;
  const Stage& stage_;
  const StageTemplate& template_;
  const UnitRange units_;
  const ConstValues weights_;
  const KernelContext& context_;
  const int64_t tokens_;
  const int64_t hidden_;
  const BackwardDepth depth_;
  GradientOut gradient_;  // of backward

 private:
  int64_t OffsetOf(TensorRole role) const {
    return template_.TensorAt(role).offset - template_.BeginOfUnit(units_.begin);
  }
};

// A stage that is a branch off the residual stream (model/stages/branch.h): attention and
// feed-forward. Its first unit has the norm before, its last what comes behind the projection.
class BranchCalls : public StageCalls {
 public:
  using StageCalls::StageCalls;

 protected:
  // The arrays of the branch, those the pass has.
  struct Branch {
    Values input, normed, projected, branch, projected_gradient;
    float *inverse_rms, *projected_inverse_rms, *normed_gradient;
    explicit Branch(StageArrays& arrays);
  };

  // What the first matrices multiply: the normed input, or the input of a model without that norm.
  ConstValues Projected(const Branch& arrays, ConstValues input) const;
  absl::Status NormInput(const Branch& arrays, ConstValues input);
  // Forward's normed input again, with its bits; the norm's weights are this shard's or were kept.
  absl::Status NormInputAgain(const Branch& arrays, std::span<std::byte> kept);
  // The end of forward: the output projection of `x`, and what the branch adds to the stream.
  absl::Status Finish(const StageForward& args, const Branch& arrays, ConstValues x,
                      const Matrix& projection);
  // The begin of backward: the gradient of the output projection's result, in
  // `arrays.projected_gradient` or where the stage got it.
  absl::Status StartBackward(const StageBackward& args, const Branch& arrays,
                             ConstValues& gradient);
  // The end of backward: from the sum of the normed input's gradients to the input's.
  absl::Status FinishBackward(const StageBackward& args, const Branch& arrays);

 private:
  NormShape Before() const { return {TensorRole::kNorm, tokens_, hidden_}; }
  NormShape After() const { return {TensorRole::kNormAfter, tokens_, hidden_}; }
};

// One for each kind of stage; `args.gradient` of backward is theirs to write.
absl::Status AttentionForwardPass(const LayerShapes& shapes, const StageForward& args,
                                  const KernelContext& context);
absl::Status AttentionBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                   const KernelContext& context);
absl::Status FeedForwardForwardPass(const LayerShapes& shapes, const StageForward& args,
                                    const KernelContext& context);
absl::Status FeedForwardBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                     const KernelContext& context);
absl::Status FinalNormForwardPass(const LayerShapes& shapes, const StageForward& args,
                                  const KernelContext& context);
absl::Status FinalNormBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                   const KernelContext& context);

}  // namespace horizon
