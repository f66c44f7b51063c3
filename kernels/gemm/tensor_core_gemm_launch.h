#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// C[m,n] = initial + A[m,k] B[k,n] + bias, of bf16 with fp32 sums. c and initial are of one type,
// bf16 or fp32; initial may be c.
struct TensorCoreGemmLaunch {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool a_transposed = false;  // stored as [k,m]
  bool b_transposed = false;  // stored as [n,k]; not both
  const uint16_t* a = nullptr;
  int64_t a_stride = 0;  // elements from one row to the next, as stored
  const uint16_t* b = nullptr;
  int64_t b_stride = 0;
  void* c = nullptr;
  int64_t c_stride = 0;            // of initial too
  const void* initial = nullptr;   // null: 0
  const uint16_t* bias = nullptr;  // [n]; null: 0
  bool c_is_bf16 = false;
};

// The thread blocks of a launch, one for each tile of C; a grid has at most 2^31 - 1.
inline constexpr int kTensorCoreTileM = 128;
inline constexpr int kTensorCoreTileN = 128;
constexpr int64_t TensorCoreGemmBlocks(int64_t m, int64_t n) {
  return ((m + kTensorCoreTileM - 1) / kTensorCoreTileM) *
         ((n + kTensorCoreTileN - 1) / kTensorCoreTileN);
}

// Launches the kernel of tensor_core_gemm_cuda.cu on the stream and returns the result of the
// launch, without waiting. m and n are not 0. Pointers are to device memory. cudaErrorNotSupported
// if the device's tensor cores do not multiply bf16.
CudaResult LaunchTensorCoreGemm(const TensorCoreGemmLaunch& args, CUstream_st* stream);

}  // namespace horizon
