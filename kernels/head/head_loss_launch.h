#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"
#include "kernels/head/head_sums.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of head_loss_cuda.cu on the stream and return the result of
// the launch, without waiting. Pointers are to device memory; arrays of numbers are aligned to 16
// bytes. No size is 0.

// The logits of some tokens for the `rows` rows of the vocabulary from first_row on. They are not
// yet multiplied by logit_scale.
struct LogitRows {
  int64_t tokens = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t stride = 0;  // elements from one token's logits to the next's: CudaLogitStride(rows)
  float logit_scale = 1.0f;
  float* logits = nullptr;               // [tokens, stride], of which the first `rows` are read
  const TokenRecord* records = nullptr;  // [tokens]
};

// Continues the running softmax sums of each token over the rows, in tiles of the vocabulary.
// Starts them if first_row is 0.
CudaResult LaunchSumLogits(const LogitRows& rows, TokenSums* sums, CUstream_st* stream);

// Replaces the logits by the gradients scale x (softmax - one at the label), or zeros for a token
// that does not count. They are bf16, in the first half of each row, so rows are 2 x stride of
// their elements apart. Up to three elements past the `rows` of a token are written too.
CudaResult LaunchDifferentiateLogits(const LogitRows& rows, const TokenSums* sums, float scale,
                                     CUstream_st* stream);

// Adds the losses and the number of labelled tokens to `loss`, one tile of tokens after another.
CudaResult LaunchAddLosses(int64_t tokens, const TokenRecord* records, const TokenSums* sums,
                           LossSum* loss, CUstream_st* stream);

// rounded[i] = bf16(values[i]); count is a multiple of 8.
CudaResult LaunchRoundValues(int64_t count, const float* values, uint16_t* rounded,
                             CUstream_st* stream);
// Sets all bytes of an array of any type to 0.
CudaResult LaunchZeroBytes(void* values, uint64_t bytes, CUstream_st* stream);

}  // namespace horizon
