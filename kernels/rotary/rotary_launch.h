#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// Launches the kernel of rotary_cuda.cu on the stream and returns the result of the launch, without
// waiting. All pointers are to device memory; there is at least one token, head and pair.
struct ApplyRotaryLaunch {
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  int64_t half;                // rotated pairs of a head: rotary_dim / 2
  const TokenRecord* records;  // [tokens]
  const float* table;          // of FillRotaryTable
  uint16_t* x;                 // bf16
  float sign;                  // of the angle: 1 forward, -1 backward
};
CudaResult LaunchApplyRotary(const ApplyRotaryLaunch& heads, CUstream_st* stream);

}  // namespace horizon
