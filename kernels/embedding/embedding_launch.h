#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// The launchers of embedding_cuda.cu: bf16 as uint16_t, all pointers to device memory. They put the
// work on the stream and return what the launches said.

// At least one token and column; there may be no rows.
struct EmbedRows {
  int64_t tokens;
  int64_t hidden;
  int64_t first_row;
  int64_t rows;
  float scale;
  const TokenRecord* records;
  const uint16_t* table;
  uint16_t* output;
};
CudaResult LaunchEmbedForward(const EmbedRows& embed, CUstream_st* stream);

// At least one row and column; there may be no tokens.
struct EmbedGradients {
  int64_t tokens;
  int64_t hidden;
  int64_t first_row;
  int64_t rows;
  float scale;
  const TokenRecord* records;
  const uint16_t* output_gradient;
  GradientOut gradient;
};
CudaResult LaunchEmbedBackward(const EmbedGradients& embed, CUstream_st* stream);

}  // namespace horizon
