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

// Base class of the code of a stage (attention_calls.cc, feed_forward_calls.cc,
// final_norm_calls.cc; called through layer_template.h). It gives access to tensors and arrays by
// their role, and wraps the kernel calls that stages have in common. One object serves one call
// over the units of a stage that are in a chunk.
class StageCalls {
 public:
  StageCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units, ConstValues weights,
             const KernelContext& context);

 protected:
  bool HasUnit(int64_t unit) const { return units_.begin <= unit && unit < units_.end; }
  bool in_shards() const { return units_.end - units_.begin != stage_.units; }
  bool HasTensor(TensorRole role) const {
    const StageTemplate::TensorPlace& place = template_.TensorAt(role);
    return place.offset >= 0 && HasUnit(place.unit);
  }
  // The values of a tensor; null where the model has no such tensor or another shard holds it.
  ConstValues Weight(TensorRole role) const {
    return HasTensor(role) ? weights_.From(OffsetOf(role)) : ConstValues();
  }
  bool Trains(TensorRole role) const {
    return stage_.trained_roles.test(static_cast<size_t>(role));
  }
  // Whether backward computes more than the gradients of the tensors at this depth.
  bool GoesBelow(BackwardDepth depth) const { return depth_ > depth; }
  // Where the gradient of a trained tensor is written; empty for a frozen one.
  GradientOut GradientOf(TensorRole role) const;

  StageArrays ForwardArrays(const StageForward& args) const {
    return {stage_,
            template_,
            args.kept.empty() ? ScratchPass::kForward : ScratchPass::kKeepingForward,
            args.kept,
            args.workspace,
            s_.activations};
  }
  StageArrays BackwardArrays(const StageBackward& args) const {
    return {stage_, template_, ScratchPass::kBackward, args.kept, args.workspace, s_.activations};
  }

  // A weight matrix [out, in] of the stage, and its bias.
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
  // Computes the gradients of weight and bias, each only if it is trained.
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
  // `residual`, where it is not null, is added to dx. dx may be null when it is not needed.
  absl::Status NormBackward(const NormShape& shape, ConstValues x, const float* inverse_rms,
                            ConstValues dy, ConstValues residual, Values dx);

  // Copies the input to `args.kept`, and for a stage in shards also the weights of its norm.
  absl::Status KeepInput(const StageForward& args);

  // Where a stage in shards keeps the weights of its norm.
  Values KeptNormWeight(std::span<std::byte> kept) const;
  float weight_offset() const { return s_.spec.norm_adds_one ? 1.0F : 0.0F; }

  const LayerShapes& s_;  // shared by all calls of the pass
  const Stage& stage_;
  const StageTemplate& template_;
  const UnitRange units_;
  const ConstValues weights_;
  const KernelContext& context_;
  const int64_t tokens_;
  const int64_t hidden_;
  const BackwardDepth depth_;
  GradientOut gradient_;  // backward only

 private:
  int64_t OffsetOf(TensorRole role) const {
    return template_.TensorAt(role).offset - template_.BeginOfUnit(units_.begin);
  }
};

// A stage that is a branch of the residual stream (model/stages/branch.h): attention and
// feed-forward. Its first unit holds the norm before the branch; its last unit does what follows
// the output projection.
class BranchCalls : public StageCalls {
 public:
  using StageCalls::StageCalls;

 protected:
  // The arrays that both kinds of branch have; null where the pass has none.
  struct Branch {
    Values input, normed, projected, branch, projected_gradient;
    float *inverse_rms, *projected_inverse_rms, *normed_gradient;
    explicit Branch(StageArrays& arrays);
  };

  // The input of the first matrices: the normed input, or `input` itself in a model without a norm
  // before.
  ConstValues ProjectionInput(const Branch& arrays, ConstValues input) const;
  absl::Status NormInput(const Branch& arrays, ConstValues input);
  // Recomputes forward's normed input with the same bits. The norm's weights are this shard's, or
  // were kept by forward.
  absl::Status RecomputeNormedInput(const Branch& arrays, std::span<std::byte> kept);
  // The end of forward: applies the output projection to `x` and adds the result to the residual
  // stream.
  absl::Status FinishForward(const StageForward& args, const Branch& arrays, ConstValues x,
                             const Matrix& projection);
  // The beginning of backward: sets `gradient` to the gradient of the output projection's result.
  // It is stored in `arrays.projected_gradient`, or it is args.output_gradient itself where nothing
  // follows the projection.
  absl::Status StartBackward(const StageBackward& args, const Branch& arrays,
                             ConstValues& gradient);
  // The end of backward: from the summed gradient of the normed input to the gradient of the
  // stage's input.
  absl::Status FinishBackward(const StageBackward& args, const Branch& arrays);

 private:
  NormShape NormBefore() const { return {TensorRole::kNorm, tokens_, hidden_}; }
  NormShape NormAfter() const { return {TensorRole::kNormAfter, tokens_, hidden_}; }
};

// Forward and backward of each kind of stage; RunStageForward and RunStageBackward choose among
// them. Backward writes to `args.gradient`.
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
