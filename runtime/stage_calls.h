#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/check.h"
#include "common/kernel_context.h"
#include "kernels/gradient_out.h"
#include "kernels/values.h"
#include "model/stages.h"
#include "runtime/layer_template.h"

namespace horizon {

// What the templates of the stages (layer_template.h) are written with: memory handed out piece by
// piece, tensors by their role, and the calls of kernels that stages have in common.

// Hands out consecutive parts of some memory. Arrays come first and scalars after them, so that
// all lie at multiples of their size; widths are multiples of 8 where a device needs more.
class Parts {
 public:
  Parts(std::span<std::byte> memory, ValueType type) : memory_(memory), type_(type) {}
  // Counts only: every part is null.
  explicit Parts(ValueType type) : type_(type), counts_(true) {}

  Values Take(int64_t values) {
    CHECK(!scalars_);
    return {Next(values * BytesOf(type_)), type_};
  }
  float* TakeScalars(int64_t count) {
    scalars_ = true;
    return reinterpret_cast<float*>(Next(count * static_cast<int64_t>(sizeof(float))));
  }
  // An array and scalars in the same memory: writing one destroys the other.
  struct Aliased {
    Values values;
    float* scalars = nullptr;
  };
  Aliased TakeAliased(int64_t values, int64_t scalars) {
    CHECK(!scalars_);
    scalars_ = true;
    std::byte* place =
        Next(std::max(values * BytesOf(type_), scalars * static_cast<int64_t>(sizeof(float))));
    return {.values = {place, type_}, .scalars = reinterpret_cast<float*>(place)};
  }
  int64_t taken() const { return taken_; }

 private:
  std::byte* Next(int64_t bytes) {
    if (!counts_) CHECK(bytes <= static_cast<int64_t>(memory_.size()) - taken_);
    std::byte* part = counts_ ? nullptr : memory_.data() + taken_;
    taken_ += bytes;
    return part;
  }

  std::span<std::byte> memory_;
  ValueType type_;
  bool counts_ = false;
  int64_t taken_ = 0;
  bool scalars_ = false;  // from here on
};

// The arrays that backward reads. Without `kept` memory forward has the same arrays, less those it
// does not need itself, in the workspace.
enum class Keeps { kNothing, kAll };

struct AttentionKept {
  Values input, q, k, v, output;
  Values q_before, k_before;  // q/k norm only, else null
  float *inverse_rms, *log_sum_exp;
  float *q_inverse_rms, *k_inverse_rms;  // q/k norm only, else null
  AttentionKept(const LayerShapes& shapes, Parts& parts, Keeps keeps);
};

struct FeedForwardKept {
  Values input, gate, up;
  float* inverse_rms;
  FeedForwardKept(const LayerShapes& shapes, Parts& parts, Keeps keeps);
};

struct FinalNormKept {
  Values input;
  float* inverse_rms;
  FinalNormKept(const LayerShapes& shapes, Parts& parts, Keeps keeps);
};

// The calls of one stage, or of some units of it, on one micro-batch.
class StageCalls {
 public:
  StageCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units, ConstValues weights,
             const KernelContext& context);

  absl::Status Forward(const StageForward& args);
  absl::Status Backward(const StageBackward& args);

 private:
  bool Has(int64_t unit) const { return units_.begin <= unit && unit < units_.end; }
  bool in_shards() const { return units_.end - units_.begin != stage_.units; }
  bool HasTensor(TensorRole role) const { return OffsetOf(role) >= 0; }
  int64_t OffsetOf(TensorRole role) const { return offsets_[static_cast<size_t>(role)]; }
  // Null where the model has no such tensor, or another shard has it.
  ConstValues Weight(TensorRole role) const {
    return HasTensor(role) ? weights_.From(OffsetOf(role)) : ConstValues();
  }
  GradientOut GradientOf(TensorRole role) const { return gradient_.From(OffsetOf(role)); }
  float epsilon() const { return static_cast<float>(s_.spec.norm_epsilon); }

  // A matrix [out, in] of the stage and its bias.
  struct Matrix {
    TensorRole weight;
    TensorRole bias;
    int64_t in = 0;
    int64_t out = 0;
  };
  Matrix Query() const { return {TensorRole::kQuery, TensorRole::kQueryBias, hidden_, query_}; }
  Matrix Key() const { return {TensorRole::kKey, TensorRole::kKeyBias, hidden_, key_}; }
  Matrix Value() const { return {TensorRole::kValue, TensorRole::kValueBias, hidden_, key_}; }
  Matrix Output() const { return {TensorRole::kOutput, TensorRole::kOutputBias, query_, hidden_}; }
  Matrix Gate() const { return {TensorRole::kGate, TensorRole::kGateBias, hidden_, width_}; }
  Matrix Up() const { return {TensorRole::kUp, TensorRole::kUpBias, hidden_, width_}; }
  Matrix Down() const { return {TensorRole::kDown, TensorRole::kDownBias, width_, hidden_}; }

  // y[tokens, out] = x[tokens, in] W^T (+ bias) (+ initial)
  absl::Status Linear(ConstValues x, const Matrix& matrix, Values y, ConstValues initial = {});
  // dx[tokens, in] = dy[tokens, out] W (+ initial)
  absl::Status InputGradient(ConstValues dy, const Matrix& matrix, Values dx, Values initial = {});
  absl::Status WeightGradients(ConstValues x, const Matrix& matrix, ConstValues dy);

  absl::Status Norm(ConstValues x, Values y, float* inverse_rms);
  // Forward's normed input again, with its bits; the norm's weights are this shard's or were kept.
  absl::Status NormAgain(std::span<std::byte> kept, ConstValues x, const float* inverse_rms,
                         Values y);
  absl::Status NormBackward(ConstValues x, const float* inverse_rms, ConstValues dy,
                            ConstValues residual, Values dx);
  // `sum` is the gradient of the normed input; `rounded` is where it is put as an activation, where
  // these are not fp32.
  absl::Status NormBackwardOfSum(ConstValues x, const float* inverse_rms, float* sum,
                                 Values rounded, const StageBackward& args);
  // Where a stage in shards keeps the weights of its norm.
  Values KeptNormWeight(std::span<std::byte> kept) const;

  // Of q (or k): the norm over each head, where the model has one, then rotary. `before`: where the
  // values before the norm are kept; null: they are not.
  absl::Status HeadNormAndRotary(Values x, int64_t heads, TensorRole norm, Values before,
                                 float* inverse_rms);
  absl::Status HeadNormAndRotaryBackward(Values dx, int64_t heads, TensorRole norm,
                                         ConstValues before, const float* inverse_rms);
  absl::Status ApplyRotary(Values x, int64_t heads, RotaryDirection direction);
  AttentionShape Shape() const;
  absl::Status Attend(const StageForward& args, const AttentionKept& kept);

  absl::Status KeepInput(const StageForward& args);
  absl::Status AttentionForwardPass(const StageForward& args);
  absl::Status AttentionBackwardPass(const StageBackward& args);
  absl::Status FeedForwardForwardPass(const StageForward& args);
  absl::Status FeedForwardBackwardPass(const StageBackward& args);
  absl::Status FinalNormForwardPass(const StageForward& args);
  absl::Status FinalNormBackwardPass(const StageBackward& args);

  const LayerShapes& s_;
  const Stage& stage_;
  const UnitRange units_;
  std::array<int64_t, kTensorRoles> offsets_;  // in parameters from the first unit's; -1: none
  const ConstValues weights_;
  const KernelContext& context_;
  const int64_t tokens_;
  const int64_t hidden_;
  const int64_t query_;
  const int64_t key_;
  const int64_t width_;
  GradientOut gradient_;
};

}  // namespace horizon
