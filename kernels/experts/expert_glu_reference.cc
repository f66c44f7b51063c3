#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/experts/expert_glu.h"

namespace horizon {
namespace {

double SigmoidOf(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// A unit without its weight, and its derivatives.
struct Unit {
  double value = 0.0;
  double by_gate = 0.0;
  double by_up = 0.0;
};

// d(gate sigmoid(gate)) / d gate = sigmoid(gate) (1 + gate (1 - sigmoid(gate))), and
// 1 - sigmoid(x) = sigmoid(-x).
Unit SiluUnit(double gate, double up) {
  const double sigmoid = SigmoidOf(gate);
  const double slope = sigmoid * (1.0 + gate * SigmoidOf(-gate));
  return {.value = gate * sigmoid * up, .by_gate = slope * up, .by_up = gate * sigmoid};
}

// With t = tanh(u): d(gate / 2 (1 + t)) / d gate = (1 + t) / 2 + gate / 2 (1 - t^2) du/dgate.
Unit GeluUnit(double gate, double up) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  const double tanh = std::tanh(root * (gate + 0.044715 * gate * gate * gate));
  const double inner = root * (1.0 + 3.0 * 0.044715 * gate * gate);
  const double value = 0.5 * gate * (1.0 + tanh);
  const double slope = 0.5 * (1.0 + tanh) + 0.5 * gate * (1.0 - tanh * tanh) * inner;
  return {.value = value * up, .by_gate = slope * up, .by_up = value};
}

Unit ClampedUnit(double gate, double up, double limit, double alpha) {
  const bool gate_is_clamped = gate > limit;
  const bool up_is_clamped = up > limit || up < -limit;
  const double g = gate_is_clamped ? limit : gate;
  const double u = up_is_clamped ? std::copysign(limit, up) : up;
  const double sigmoid = SigmoidOf(alpha * g);
  const double slope = sigmoid * (1.0 + alpha * g * SigmoidOf(-alpha * g));
  return {.value = g * sigmoid * (u + 1.0),
          .by_gate = gate_is_clamped ? 0.0 : slope * (u + 1.0),
          .by_up = up_is_clamped ? 0.0 : g * sigmoid};
}

// Where gate and up number j of a row are stored.
int64_t GateAt(const ExpertGluShape& shape, int64_t row, int64_t j) {
  const bool halves = shape.layout == GateUpLayout::kHalves;
  return row * 2 * shape.width + (halves ? j : 2 * j);
}
int64_t UpAt(const ExpertGluShape& shape, int64_t row, int64_t j) {
  const bool halves = shape.layout == GateUpLayout::kHalves;
  return row * 2 * shape.width + (halves ? shape.width + j : 2 * j + 1);
}

Unit UnitAt(const ExpertGluShape& shape, ConstValues gate_up, int64_t row, int64_t j) {
  const double gate = gate_up[GateAt(shape, row, j)];
  const double up = gate_up[UpAt(shape, row, j)];
  if (shape.limit > 0.0f) return ClampedUnit(gate, up, shape.limit, shape.alpha);
  return shape.activation == GluActivation::kGeluTanh ? GeluUnit(gate, up) : SiluUnit(gate, up);
}

void DifferentiateRow(const ExpertGluBackward& args, int64_t expert, int64_t row) {
  const ExpertGluShape& shape = args.shape;
  const int32_t pair = shape.row_pairs[row];
  const double weight = shape.weights[pair];
  double of_weight = 0.0;
  for (int64_t j = 0; j < shape.width; ++j) {
    const Unit unit = UnitAt(shape, args.gate_up, row, j);
    const int64_t at = row * shape.width + j;
    const double gradient = args.output_gradient[at];
    of_weight += gradient * unit.value;
    if (args.output != nullptr) args.output[at] = static_cast<float>(weight * unit.value);
    args.gate_up_gradient[GateAt(shape, row, j)] =
        static_cast<float>(gradient * weight * unit.by_gate);
    args.gate_up_gradient[UpAt(shape, row, j)] = static_cast<float>(gradient * weight * unit.by_up);
  }
  for (int64_t i = 0; args.down_bias != nullptr && i < args.hidden; ++i) {
    of_weight += double{args.down_bias[expert * args.down_bias_expert_stride + i]} *
                 double{args.down_gradient[args.row_tokens[row] * args.hidden + i]};
  }
  args.weight_gradient[pair] = static_cast<float>(of_weight);
}

}  // namespace

absl::Status ExpertGluForwardReference(const KernelContext&, const ExpertGluForward& args) {
  const ExpertGluShape& shape = args.shape;
  for (int64_t row = shape.begins[0]; row < shape.begins[shape.experts]; ++row) {
    const double weight = shape.weights[shape.row_pairs[row]];
    for (int64_t j = 0; j < shape.width; ++j) {
      args.output[row * shape.width + j] =
          static_cast<float>(weight * UnitAt(shape, args.gate_up, row, j).value);
    }
  }
  return absl::OkStatus();
}

absl::Status ExpertGluBackwardReference(const KernelContext&, const ExpertGluBackward& args) {
  for (int64_t expert = 0; expert < args.shape.experts; ++expert) {
    for (int64_t row = args.shape.begins[expert]; row < args.shape.begins[expert + 1]; ++row) {
      DifferentiateRow(args, expert, row);
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon
