#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of convert_cuda.cu on the stream and return the result of the
// launch, without waiting. All pointers are to device memory; there is at least one element or
// byte.

CudaResult LaunchStoreGradient(const float* sum, int64_t count, const GradientOut& gradient,
                               CUstream_st* stream);

// The fields of Accumulate in convert.h.
struct AccumulateLaunch {
  int64_t count = 0;
  const float* gradient_fp32 = nullptr;
  const uint16_t* gradient_bf16 = nullptr;
  bool add = false;
  float* kept_fp32 = nullptr;
  uint16_t* kept_bf16 = nullptr;
};
CudaResult LaunchAccumulate(const AccumulateLaunch& args, CUstream_st* stream);

CudaResult LaunchCopyBytes(const void* from, void* to, int64_t bytes, CUstream_st* stream);

}  // namespace horizon
