#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// The launchers of convert_cuda.cu: all pointers to device memory, at least one element or byte.
// They put the work on the stream and return what the launch said.
CudaResult LaunchStoreGradient(const float* sum, int64_t count, const GradientOut& gradient,
                               CUstream_st* stream);
// As Accumulate in convert.h.
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
