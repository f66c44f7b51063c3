#include <cmath>

#include "kernels/host/reference_math.h"
#include "kernels/norm/rms_norm.h"

namespace horizon {
namespace {

void SumWeightGradient(const RmsNormBackward& args) {
  for (int64_t i = 0; i < args.width; ++i) {
    double sum = 0.0;
    for (int64_t row = 0; row < args.rows; ++row) {
      const int64_t at = row * args.width + i;
      sum += double{args.y_gradient[at]} * args.x[at] * args.inverse_rms[row];
    }
    ReferenceStoreGradient(args.weight_gradient, i, sum);
  }
}

void DifferentiateRow(const RmsNormBackward& args, int64_t row) {
  const float* x = args.x + row * args.width;
  const float* y_gradient = args.y_gradient + row * args.width;
  const double inverse = args.inverse_rms[row];
  double mean = 0.0;
  for (int64_t i = 0; i < args.width; ++i) {
    const double weight = double{args.weight_offset} + args.weight[i];
    mean += double{y_gradient[i]} * weight * x[i] * inverse;
  }
  mean /= static_cast<double>(args.width);
  for (int64_t i = 0; i < args.width; ++i) {
    const double a = double{y_gradient[i]} * (double{args.weight_offset} + args.weight[i]);
    double gradient = inverse * (a - x[i] * inverse * mean);
    const int64_t at = row * args.width + i;
    if (args.residual_gradient != nullptr) gradient += args.residual_gradient[at];
    args.x_gradient[at] = static_cast<float>(gradient);
  }
}

}  // namespace

absl::Status RmsNormForwardReference(const KernelContext&, const RmsNormForward& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* x = args.x + row * args.width;
    float* y = args.y + row * args.width;
    double squares = 0.0;
    for (int64_t i = 0; i < args.width; ++i) squares += double{x[i]} * x[i];
    const double inverse =
        1.0 / std::sqrt(squares / static_cast<double>(args.width) + double{args.epsilon});
    for (int64_t i = 0; i < args.width; ++i) {
      y[i] = static_cast<float>(x[i] * inverse * (double{args.weight_offset} + args.weight[i]));
    }
    if (args.inverse_rms != nullptr) args.inverse_rms[row] = static_cast<float>(inverse);
  }
  return absl::OkStatus();
}

absl::Status RmsNormRecomputeReference(const KernelContext&, const RmsNormRecompute& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t i = row * args.width; i < (row + 1) * args.width; ++i) {
      const double weight = double{args.weight_offset} + args.weight[i - row * args.width];
      args.y[i] = static_cast<float>(args.x[i] * double{args.inverse_rms[row]} * weight);
    }
  }
  return absl::OkStatus();
}

// With n = x r, r = (mean(x^2) + epsilon)^-1/2 and a = dL/dy (weight_offset + weight):
//   dL/dweight = sum over rows of dL/dy n
//   dL/dx = r (a - n mean(a n))
absl::Status RmsNormBackwardReference(const KernelContext&, const RmsNormBackward& args) {
  if (args.width == 0) return absl::OkStatus();
  if (args.x_gradient == nullptr && !args.weight_gradient.is_needed()) {
    return absl::InvalidArgumentError(
        "the gradient of the RMS norm: neither x_gradient nor weight_gradient is wanted");
  }
  // First, since x_gradient may lie on y_gradient.
  if (args.weight_gradient.is_needed()) SumWeightGradient(args);
  if (args.x_gradient == nullptr) return absl::OkStatus();
  for (int64_t row = 0; row < args.rows; ++row) DifferentiateRow(args, row);
  return absl::OkStatus();
}

}  // namespace horizon
