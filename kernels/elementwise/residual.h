#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/values.h"

namespace horizon {

// A scaled residual connection: output[i] = residual[i] + scale x branch[i]. The product is rounded
// to fp32, then the sum (no fused multiply-add, so all devices agree), and the sum once to the
// output's type. Models that scale what a block adds (Granite's residual_multiplier) have a scale
// other than 1.
struct ResidualAdd {
  int64_t count = 0;
  ConstValues residual;  // null: output = scale x branch
  ConstValues branch;
  float scale = 1.0f;
  Values output;  // may be residual or branch, where the types are equal
};
absl::Status ResidualAddReference(const KernelContext& context, const ResidualAdd& args);
absl::Status ResidualAddHost(const KernelContext& context, const ResidualAdd& args);  // all fp32
// Arrays are in device memory: residual and output bf16, branch bf16 or fp32; see rms_norm.h.
absl::Status ResidualAddCuda(const KernelContext& context, const ResidualAdd& args);

}  // namespace horizon
