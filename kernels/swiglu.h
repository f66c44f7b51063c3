#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"

namespace horizon {

// SwiGLU: output = gate x sigmoid(gate) x up, element by element.
struct SwigluForward {
  int64_t count = 0;
  const float* gate = nullptr;
  const float* up = nullptr;
  float* output = nullptr;
};
absl::Status SwigluForwardReference(const KernelContext& context, const SwigluForward& args);
absl::Status SwigluForwardHost(const KernelContext& context, const SwigluForward& args);

struct SwigluBackward {
  int64_t count = 0;
  const float* gate = nullptr;
  const float* up = nullptr;
  const float* output_gradient = nullptr;
  float* output = nullptr;         // forward's result again, with its bits; null: not wanted
  float* gate_gradient = nullptr;  // may be output_gradient
  float* up_gradient = nullptr;
};
absl::Status SwigluBackwardReference(const KernelContext& context, const SwigluBackward& args);
absl::Status SwigluBackwardHost(const KernelContext& context, const SwigluBackward& args);

}  // namespace horizon
