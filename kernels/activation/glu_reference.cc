#include <cmath>
#include <numbers>

#include "kernels/activation/glu.h"

namespace horizon {
namespace {

double SigmoidOf(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The activation of a gate and its derivative.
struct Activated {
  double value = 0.0;
  double slope = 0.0;
};

// d(gate sigmoid(gate)) / d gate = sigmoid(gate) (1 + gate (1 - sigmoid(gate))), and
// 1 - sigmoid(x) = sigmoid(-x).
Activated SiluOf(double gate) {
  const double sigmoid = SigmoidOf(gate);
  return {gate * sigmoid, sigmoid * (1.0 + gate * SigmoidOf(-gate))};
}

// With t = tanh(u): d(gate / 2 (1 + t)) / d gate = (1 + t) / 2 + gate / 2 (1 - t^2) du/dgate.
Activated GeluOf(double gate) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  const double tanh = std::tanh(root * (gate + 0.044715 * gate * gate * gate));
  const double inner = root * (1.0 + 3.0 * 0.044715 * gate * gate);
  return {0.5 * gate * (1.0 + tanh), 0.5 * (1.0 + tanh) + 0.5 * gate * (1.0 - tanh * tanh) * inner};
}

Activated ActivatedOf(GluActivation activation, double gate) {
  return activation == GluActivation::kGeluTanh ? GeluOf(gate) : SiluOf(gate);
}

}  // namespace

absl::Status GluForwardReference(const KernelContext&, const GluForward& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    const double value = ActivatedOf(args.activation, args.gate[i]).value;
    args.output[i] = static_cast<float>(value * args.up[i]);
  }
  return absl::OkStatus();
}

absl::Status GluBackwardReference(const KernelContext&, const GluBackward& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    const auto [value, slope] = ActivatedOf(args.activation, args.gate[i]);
    const double up = args.up[i];
    const double gradient = args.output_gradient[i];
    if (args.output != nullptr) args.output[i] = static_cast<float>(value * up);
    args.up_gradient[i] = static_cast<float>(gradient * value);
    args.gate_gradient[i] = static_cast<float>(gradient * up * slope);
  }
  return absl::OkStatus();
}

}  // namespace horizon
