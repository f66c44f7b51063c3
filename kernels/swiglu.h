#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/values.h"

namespace horizon {

// SwiGLU: output = gate x sigmoid(gate) x up, element by element.
struct SwigluForward {
  int64_t count = 0;
  ConstValues gate;
  ConstValues up;
  Values output;
};
absl::Status SwigluForwardReference(const KernelContext& context, const SwigluForward& args);
absl::Status SwigluForwardHost(const KernelContext& context, const SwigluForward& args);
// Arrays are bf16 in device memory; see rms_norm.h.
absl::Status SwigluForwardCuda(const KernelContext& context, const SwigluForward& args);

struct SwigluBackward {
  int64_t count = 0;
  ConstValues gate;
  ConstValues up;
  ConstValues output_gradient;
  Values output;         // forward's result again, with its bits; null: not wanted
  Values gate_gradient;  // may be output_gradient
  Values up_gradient;
};
absl::Status SwigluBackwardReference(const KernelContext& context, const SwigluBackward& args);
absl::Status SwigluBackwardHost(const KernelContext& context, const SwigluBackward& args);
absl::Status SwigluBackwardCuda(const KernelContext& context, const SwigluBackward& args);

}  // namespace horizon
