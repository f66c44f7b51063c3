#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"

namespace horizon {

// Sums of squares in fp64: partials[j] is that of elements j x block .. (j + 1) x block of a tensor
// (the last block may be shorter). Within a block the order is fixed: 16 logical lanes, element i
// in lane i mod 16, lanes added in ascending order at the end. A NaN or infinity makes its partial
// non-finite.
struct SquaredNorm {
  int64_t count = 0;
  int64_t block = 65536;
  const float* fp32 = nullptr;  // one of the two
  const uint16_t* bf16 = nullptr;
  double* partials = nullptr;
};
absl::Status SquaredNormReference(const KernelContext& context, const SquaredNorm& args);
absl::Status SquaredNormHost(const KernelContext& context, const SquaredNorm& args);
// The host's bits, of arrays in device memory, on the context's stream without waiting. Unavailable
// without a CUDA device.
absl::Status SquaredNormCuda(const KernelContext& context, const SquaredNorm& args);

}  // namespace horizon
