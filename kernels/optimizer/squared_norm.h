#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"

namespace horizon {

// Partial sums of squares, from which the gradient norm is computed: partials[j] is the fp64 sum of
// the squares of elements j x block .. (j + 1) x block - 1 (a norm block; the last one may be
// shorter). The order within a norm block is fixed: there are 16 running sums (logical lanes,
// simd_math-inl.h), element i of the norm block is added to number i mod 16, and at the end they
// are added in ascending order. A NaN or infinity makes its partial sum non-finite.
struct SquaredNorm {
  int64_t count = 0;
  int64_t block = 65536;        // elements of a norm block
  const float* fp32 = nullptr;  // exactly one of the two is set
  const uint16_t* bf16 = nullptr;
  double* partials = nullptr;  // one for each norm block
};
absl::Status SquaredNormReference(const KernelContext& context, const SquaredNorm& args);
absl::Status SquaredNormHost(const KernelContext& context, const SquaredNorm& args);
// Arrays are in device memory; the bits are those of the host kernel. Runs on the context's stream
// and does not wait for it. Unavailable without a CUDA device.
absl::Status SquaredNormCuda(const KernelContext& context, const SquaredNorm& args);

}  // namespace horizon
