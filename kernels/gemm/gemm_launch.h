#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of gemm_cuda.cu on the stream and return the result of the
// launch, without waiting. Pointers are to device memory.

// The result of a matrix multiply with k = 0: c[m,n] = initial + bias, each of them 0 if null. All
// three have one type, bf16 or fp32. `initial` may be c.
struct InitialPlusBias {
  int64_t m = 0;
  int64_t n = 0;
  int64_t stride = 0;  // elements from one row of c and initial to the next
  const void* initial = nullptr;
  const void* bias = nullptr;
  void* c = nullptr;
  bool is_bf16 = false;
};
CudaResult LaunchInitialPlusBias(const InitialPlusBias& args, CUstream_st* stream);

// sum[i] = gradient[i], or sum[i] + gradient[i] if `add`, for a bf16 gradient. Both arrays begin at
// multiples of 16 bytes.
struct RoundedGradient {
  int64_t count = 0;
  const uint16_t* gradient = nullptr;
  float* sum = nullptr;
  bool add = false;
};
CudaResult LaunchSumRoundedGradient(const RoundedGradient& args, CUstream_st* stream);

}  // namespace horizon
