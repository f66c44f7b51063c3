#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"

namespace horizon {

// Passes over arrays of numbers that change their type or add them up; element by element, so any
// cut gives the same bits. bf16 is rounded to nearest even, NaN stays NaN.

// Weights as compute reads them: fp32(hi), or the exact master where lo is given.
struct ExpandWeights {
  int64_t count = 0;
  const uint16_t* hi = nullptr;
  const int16_t* lo = nullptr;  // null: high half alone
  float* weights = nullptr;
};
absl::Status ExpandWeightsReference(const KernelContext& context, const ExpandWeights& args);
absl::Status ExpandWeightsHost(const KernelContext& context, const ExpandWeights& args);

// A finished fp32 sum as a gradient that leaves (the head's over all loss chunks).
struct StoreGradient {
  int64_t count = 0;
  const float* sum = nullptr;
  GradientOut gradient;
};
absl::Status StoreGradientReference(const KernelContext& context, const StoreGradient& args);
absl::Status StoreGradientHost(const KernelContext& context, const StoreGradient& args);
// The host's bits, of arrays in device memory, on the context's stream without waiting. Unavailable
// without a CUDA device.
absl::Status StoreGradientCuda(const KernelContext& context, const StoreGradient& args);

// A gradient that arrived, put into (`add` false) or added to the kept one:
// kept[i] = r(kept[i] + gradient[i]), r rounding to the kept type. One pointer of each pair is set.
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
// All in device memory; the host's bits.
absl::Status AccumulateCuda(const KernelContext& context, const Accumulate& args);

// values[i] *= factor, in fp32.
struct Scale {
  int64_t count = 0;
  float factor = 1.0f;
  float* values = nullptr;
};
absl::Status ScaleReference(const KernelContext& context, const Scale& args);
absl::Status ScaleHost(const KernelContext& context, const Scale& args);

// Bytes from one array to another that does not overlap it.
struct CopyBytes {
  int64_t bytes = 0;
  const void* from = nullptr;
  void* to = nullptr;
};
absl::Status CopyBytesReference(const KernelContext& context, const CopyBytes& args);
absl::Status CopyBytesHost(const KernelContext& context, const CopyBytes& args);
absl::Status CopyBytesCuda(const KernelContext& context, const CopyBytes& args);  // on the device

}  // namespace horizon
