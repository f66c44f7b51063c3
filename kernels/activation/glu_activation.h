#pragma once

#include <cstdint>

namespace horizon {

// What a gated linear unit applies to its gate. Both are the gate times a sigmoid, since
// (1 + tanh(u)) / 2 = sigmoid(2 u):
//   kSilu      gate x sigmoid(gate) (SwiGLU)
//   kGeluTanh  gate / 2 x (1 + tanh(u)) with u = sqrt(2 / pi) (gate + 0.044715 gate^3) (GeGLU);
//              PyTorch's gelu(approximate='tanh')
enum class GluActivation : uint8_t { kSilu, kGeluTanh };

// 2 u = gate (kGeluLinear + kGeluCubic gate^2): 2 sqrt(2 / pi), and that times 0.044715.
inline constexpr float kGeluLinear = 1.5957691216057308f;
inline constexpr float kGeluCubic = 0.07135481627260025f;
// Gates are bounded to this magnitude before they enter 2 u. The sigmoid is 0 or 1 in fp32 long
// before (from 10.2 on), and no power of a larger gate overflows into infinity x 0.
inline constexpr float kGeluBound = 16.0f;

}  // namespace horizon
