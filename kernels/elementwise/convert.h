#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"

namespace horizon {

// Element-wise passes over arrays that convert numbers between formats, add, scale or copy them.
// They give the same bits however the arrays are cut. Rounding to bf16 is to the nearest, ties to
// even; NaN stays NaN.

// The weights that compute reads, from a split fp32 master: fp32(hi), or the exact master if `lo`
// is set.
struct ExpandWeights {
  int64_t count = 0;
  const uint16_t* hi = nullptr;
  const int16_t* lo = nullptr;  // null: the high half alone
  float* weights = nullptr;
};
absl::Status ExpandWeightsReference(const KernelContext& context, const ExpandWeights& args);
absl::Status ExpandWeightsHost(const KernelContext& context, const ExpandWeights& args);

// Stores a finished fp32 sum as a gradient: the gradient of the head, which is summed over all loss
// chunks first.
struct StoreGradient {
  int64_t count = 0;
  const float* sum = nullptr;
  GradientOut gradient;
};
absl::Status StoreGradientReference(const KernelContext& context, const StoreGradient& args);
absl::Status StoreGradientHost(const KernelContext& context, const StoreGradient& args);
// Arrays are in device memory; the bits are those of the host kernel. Runs on the context's stream
// and does not wait for it. Unavailable without a CUDA device.
absl::Status StoreGradientCuda(const KernelContext& context, const StoreGradient& args);

// Gradient accumulation: adds the gradient of a micro-batch to the one that is kept, or stores it
// there if not `add`: kept[i] = r(kept[i] + gradient[i]), or r(gradient[i]), where r rounds to the
// kept type. Exactly one pointer of each pair is set.
struct Accumulate {
  int64_t count = 0;
  const float* gradient_fp32 = nullptr;
  const uint16_t* gradient_bf16 = nullptr;
  bool add = false;
  float* kept_fp32 = nullptr;
  uint16_t* kept_bf16 = nullptr;
};
absl::Status AccumulateReference(const KernelContext& context, const Accumulate& args);
absl::Status AccumulateHost(const KernelContext& context, const Accumulate& args);
// As StoreGradientCuda.
absl::Status AccumulateCuda(const KernelContext& context, const Accumulate& args);

// values[i] *= factor, in fp32.
struct Scale {
  int64_t count = 0;
  float factor = 1.0f;
  float* values = nullptr;
};
absl::Status ScaleReference(const KernelContext& context, const Scale& args);
absl::Status ScaleHost(const KernelContext& context, const Scale& args);

// Copies bytes from one array to another that does not overlap it.
struct CopyBytes {
  int64_t bytes = 0;
  const void* from = nullptr;
  void* to = nullptr;
};
absl::Status CopyBytesReference(const KernelContext& context, const CopyBytes& args);
absl::Status CopyBytesHost(const KernelContext& context, const CopyBytes& args);
// Both arrays are in device memory.
absl::Status CopyBytesCuda(const KernelContext& context, const CopyBytes& args);

}  // namespace horizon
