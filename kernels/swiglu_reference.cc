#include <cmath>

#include "kernels/swiglu.h"

namespace horizon {
namespace {

double SigmoidOf(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

absl::Status SwigluForwardReference(const KernelContext&, const SwigluForward& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    const double gate = args.gate[i];
    args.output[i] = static_cast<float>(gate * SigmoidOf(gate) * args.up[i]);
  }
  return absl::OkStatus();
}

// d(gate sigmoid(gate)) / d gate = sigmoid(gate) (1 + gate (1 - sigmoid(gate))), and
// 1 - sigmoid(x) = sigmoid(-x).
absl::Status SwigluBackwardReference(const KernelContext&, const SwigluBackward& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    const double gate = args.gate[i];
    const double up = args.up[i];
    const double gradient = args.output_gradient[i];
    const double sigmoid = SigmoidOf(gate);
    if (args.output != nullptr) args.output[i] = static_cast<float>(gate * sigmoid * up);
    args.up_gradient[i] = static_cast<float>(gradient * gate * sigmoid);
    args.gate_gradient[i] =
        static_cast<float>(gradient * up * sigmoid * (1.0 + gate * SigmoidOf(-gate)));
  }
  return absl::OkStatus();
}

}  // namespace horizon
