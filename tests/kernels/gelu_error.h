#pragma once

#include <cmath>

namespace horizon {

// How far the GELU of a gate in fp32 may be from the exact one, in units of 2^-24: its argument
// z = gate (a + b gate^2) has five roundings (those of the constants among them), exp is off by 3
// ulp, and a sum and a quotient make the sigmoid of it.
struct GeluError {
  explicit GeluError(double gate) {
    const double linear = 2.0 * std::sqrt(2.0 / 3.14159265358979323846);
    const double cubic = linear * 0.044715;
    const double z = gate * (linear + cubic * gate * gate);
    const double sigmoid = 1.0 / (1.0 + std::exp(-z));
    const double rest = 1.0 / (1.0 + std::exp(z));  // 1 - sigmoid
    const double of_exp = 5.0 * std::fabs(z) + 6.0;
    const double of_sigmoid = sigmoid * (rest * of_exp + 2.0);
    value = rest * of_exp + 3.0;
    // sigmoid + gate sigmoid (1 - sigmoid) z': 1 - sigmoid has the absolute error of the sigmoid,
    // and the product has six roundings of its own.
    const double inner = std::fabs(gate) * (linear + 3.0 * cubic * gate * gate);
    const double term = sigmoid * rest * inner;
    slope = of_sigmoid + term * (value + 6.0) + sigmoid * inner * of_sigmoid + sigmoid + term;
    // From here on the sigmoid is 1 to the last bit, and what is left out is below a unit.
    if (z > 40.0) slope = 4.0;
  }

  double value = 0.0;  // relative, of the activation
  double slope = 0.0;  // absolute, of its derivative
};

}  // namespace horizon
