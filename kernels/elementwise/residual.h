#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/values.h"

namespace horizon {

// A scaled residual connection: output[i] = residual[i] + scale x branch[i]. The product is rounded
// to fp32, and so is the sum (no fused multiply-add, so all devices agree); then the sum is rounded
// once to the output's type. The scale is 1 except in models that scale the output of each branch
// (Granite's residual_multiplier).
struct ResidualAdd {
  int64_t count = 0;
  ConstValues residual;  // null: output = scale x branch
  ConstValues branch;
  float scale = 1.0f;
  Values output;  // may be residual or branch, if the types are equal
};
absl::Status ResidualAddReference(const KernelContext& context, const ResidualAdd& args);
// All arrays are fp32.
absl::Status ResidualAddHost(const KernelContext& context, const ResidualAdd& args);
// Arrays are in device memory: residual and output are bf16, branch is bf16 or fp32. See rms_norm.h
// for what all CUDA kernels have in common.
absl::Status ResidualAddCuda(const KernelContext& context, const ResidualAdd& args);

}  // namespace horizon
