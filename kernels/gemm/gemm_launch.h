#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// The launchers of gemm_cuda.cu; pointers are to device memory.

// c[m,n] = initial + bias, each where it is not null: a product with nothing to sum. All three are
// of one type, bf16 or fp32; initial may be c.
struct EmptyProduct {
  int64_t m = 0;
  int64_t n = 0;
  int64_t stride = 0;  // of c and initial
  const void* initial = nullptr;
  const void* bias = nullptr;
  void* c = nullptr;
  bool is_bf16 = false;
};
CudaResult LaunchEmptyProduct(const EmptyProduct& product, CUstream_st* stream);

// sum[i] = gradient[i], or sum[i] + gradient[i]. Both begin at multiples of 16 bytes.
struct RoundedGradient {
  int64_t count = 0;
  const uint16_t* gradient = nullptr;
  float* sum = nullptr;
  bool add = false;
};
CudaResult LaunchSumRoundedGradient(const RoundedGradient& args, CUstream_st* stream);

}  // namespace horizon
