#pragma once

#include <algorithm>
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

// Some consecutive tokens of a micro-batch.
struct TokenRange {
  int64_t begin = 0;
  int64_t count = 0;
};

// Base class of the code of a stage (attention_calls.cc, feed_forward_calls.cc, experts_calls.cc,
// final_norm_calls.cc; called through layer_template.h). It gives access to tensors and arrays by
// their role, and wraps the kernel calls that stages have in common. One object serves one call
// over the units of a stage that are in a chunk.
//
// No matrix multiply gets more tokens than a piece (StageOptions::piece_tokens). Linear,
// InputGradient and WeightGradients take any number of tokens and multiply them piece by piece. A
// stage whose arrays hold one piece at a time calls them with the tokens of that piece.
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
  // Where the part of it that comes from `tokens` is written: the same, if these are all tokens.
  // Otherwise it is added to the sum of the pieces, which StoreGradientSums stores at the end.
  GradientOut GradientOf(TensorRole role, const TokenRange& tokens) const;
  absl::Status StoreGradientSums();
  absl::Status StoreGradientSum(int64_t count, const float* sum, const GradientOut& gradient);

  TokenRange AllTokens() const { return {0, tokens_}; }
  int64_t piece_tokens() const { return template_.options().piece_tokens; }
  // Calls `body` with each piece of `count` tokens, in ascending order.
  template <typename Body>
  absl::Status ForEachPiece(int64_t count, const Body& body) const {
    for (int64_t begin = 0; begin < count; begin += piece_tokens()) {
      absl::Status status = body(TokenRange{begin, std::min(piece_tokens(), count - begin)});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  // Hidden states of all tokens, from those of `tokens` on; null stays null.
  template <typename AnyValues>
  AnyValues From(const AnyValues& hidden_states, const TokenRange& tokens) const {
    return hidden_states.From(tokens.begin * hidden_);
  }

  // The arrays of a pass, from those of `tokens` on.
  StageArrays ForwardArrays(const StageForward& args, const TokenRange& tokens) const {
    return {stage_,
            template_,
            args.kept.empty() ? ScratchPass::kForward : ScratchPass::kKeepingForward,
            args.kept,
            args.workspace,
            s_.activations,
            tokens.begin};
  }
  StageArrays BackwardArrays(const StageBackward& args, const TokenRange& tokens) const {
    return {stage_,         template_,   ScratchPass::kBackward, args.kept, args.workspace,
            s_.activations, tokens.begin};
  }

  // A weight matrix [out, in] of the stage, and its bias.
  struct Matrix {
    TensorRole weight;
    TensorRole bias;
    int64_t in = 0;
    int64_t out = 0;
  };
  // y[tokens, out] = x[tokens, in] W^T (+ bias) (+ initial), for `tokens.count` rows of each array.
  absl::Status Linear(const TokenRange& tokens, ConstValues x, const Matrix& matrix, Values y,
                      ConstValues initial = {});
  // dx[tokens, in] = dy[tokens, out] W (+ initial)
  absl::Status InputGradient(const TokenRange& tokens, ConstValues dy, const Matrix& matrix,
                             Values dx, Values initial = {});
  // Computes the gradients of weight and bias, each only if it is trained.
  absl::Status WeightGradients(const TokenRange& tokens, ConstValues x, const Matrix& matrix,
                               ConstValues dy);
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
                            ConstValues dy, ConstValues residual, Values dx,
                            const GradientOut& weight_gradient);

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
  GradientOut gradient_;           // backward only
  float* gradient_sum_ = nullptr;  // backward over several pieces only

 private:
  int64_t OffsetOf(TensorRole role) const {
    return template_.TensorAt(role).offset - template_.BeginOfUnit(units_.begin);
  }
};

// A stage that is a branch of the residual stream (model/stages/branch.h): attention, feed-forward
// and experts. Its first unit holds the norm before the branch; its last unit does what follows
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
  absl::Status NormInput(const TokenRange& tokens, const Branch& arrays, ConstValues input);
  // Recomputes forward's normed input with the same bits. The norm's weights are this shard's, or
  // were kept by forward.
  absl::Status RecomputeNormedInput(const TokenRange& tokens, const Branch& arrays,
                                    std::span<std::byte> kept);
  // Applies the output projection to `x`, and the norm after it, in `arrays` (not where the result
  // is added to the residual stream as it is computed: HasProjectedArray).
  absl::Status Project(const TokenRange& tokens, const Branch& arrays, ConstValues x,
                       const Matrix& projection);
  // The end of forward: applies the output projection to `x` and adds the result to the residual
  // stream. `x` and `arrays` begin at `tokens`, the arrays of `args` at the first token; so it is
  // below.
  absl::Status FinishForward(const TokenRange& tokens, const StageForward& args,
                             const Branch& arrays, ConstValues x, const Matrix& projection);
  // The same where the output of the branch is there already: as `sum`, in fp32.
  absl::Status FinishForward(const StageForward& args, const Branch& arrays, const float* sum);
  // The beginning of backward: sets `gradient` to the gradient of the output projection's result.
  // It is stored in `arrays.projected_gradient`, or it is args.output_gradient itself where nothing
  // follows the projection.
  absl::Status StartBackward(const TokenRange& tokens, const StageBackward& args,
                             const Branch& arrays, ConstValues& gradient);
  // The end of backward: from the summed gradient of the normed input to the gradient of the
  // stage's input.
  absl::Status FinishBackward(const TokenRange& tokens, const StageBackward& args,
                              const Branch& arrays);

 private:
  // Adds what is in `arrays.projected`, or what the norm after made of it, to the residual stream.
  absl::Status AddToResidual(const TokenRange& tokens, const StageForward& args,
                             const Branch& arrays);
  absl::Status NormOutput(const TokenRange& tokens, const Branch& arrays);
  NormShape NormBefore(const TokenRange& tokens) const {
    return {TensorRole::kNorm, tokens.count, hidden_};
  }
  NormShape NormAfter(const TokenRange& tokens) const {
    return {TensorRole::kNormAfter, tokens.count, hidden_};
  }
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
absl::Status ExpertsForwardPass(const LayerShapes& shapes, const StageForward& args,
                                const KernelContext& context);
absl::Status ExpertsBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                 const KernelContext& context);
absl::Status FinalNormForwardPass(const LayerShapes& shapes, const StageForward& args,
                                  const KernelContext& context);
absl::Status FinalNormBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                   const KernelContext& context);

}  // namespace horizon
