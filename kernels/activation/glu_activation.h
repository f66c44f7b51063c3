#pragma once

#include <cstdint>

namespace horizon {

// The function that a gated linear unit applies to its gate. Both functions are the gate times a
// sigmoid, because (1 + tanh(u)) / 2 = sigmoid(2 u):
//   kSilu      gate x sigmoid(gate) (SwiGLU)
//   kGeluTanh  gate / 2 x (1 + tanh(u)) with u = sqrt(2 / pi) (gate + 0.044715 gate^3) (GeGLU);
//              PyTorch's gelu(approximate='tanh')
enum class GluActivation : uint8_t { kSilu, kGeluTanh };

// The argument of that sigmoid is 2 u = gate (kGeluLinear + kGeluCubic gate^2). The constants are
// 2 sqrt(2 / pi), and that times 0.044715.
inline constexpr float kGeluLinear = 1.5957691216057308f;
inline constexpr float kGeluCubic = 0.07135481627260025f;
// Gates are clamped to this magnitude before 2 u is computed, so that no power of a large gate
// overflows and gives infinity x 0. In fp32 the sigmoid is 0 or 1 long before that (from 10.2 on).
inline constexpr float kGeluBound = 16.0f;

}  // namespace horizon
