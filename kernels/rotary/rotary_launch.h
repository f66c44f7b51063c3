#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// The launcher of rotary_cuda.cu: all pointers to device memory, at least one token, head and pair.
// It puts the work on the stream and returns what the launch said.
struct RotaryHeads {
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  int64_t half;  // pairs of a head, at its begin
  const TokenRecord* records;
  const float* table;
  uint16_t* x;  // bf16
  float sign;   // of the angle: 1 forward, -1 backward
};
CudaResult LaunchRotary(const RotaryHeads& heads, CUstream_st* stream);

}  // namespace horizon
