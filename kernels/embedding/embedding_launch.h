#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of embedding_cuda.cu on the stream and return the result of
// the launches, without waiting. bf16 is uint16_t, and all pointers are to device memory.

// There is at least one token and one column; there may be no rows.
struct EmbedForwardLaunch {
  int64_t tokens;
  int64_t hidden;
  int64_t first_row;
  int64_t rows;
  float scale;
  const TokenRecord* records;
  const uint16_t* table;
  uint16_t* output;
};
CudaResult LaunchEmbedForward(const EmbedForwardLaunch& embed, CUstream_st* stream);

// There is at least one row and one column; there may be no tokens.
struct EmbedBackwardLaunch {
  int64_t tokens;
  int64_t hidden;
  int64_t first_row;
  int64_t rows;
  float scale;
  const TokenRecord* records;
  const uint16_t* output_gradient;
  GradientOut gradient;
};
CudaResult LaunchEmbedBackward(const EmbedBackwardLaunch& embed, CUstream_st* stream);

}  // namespace horizon
