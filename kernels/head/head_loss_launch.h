#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"
#include "kernels/head/head_sums.h"

struct CUstream_st;

namespace horizon {

// The launchers of head_loss_cuda.cu. Pointers are to device memory, those of numbers aligned to 16
// bytes. None of the sizes is 0.

// Logits of some tokens for rows first_row .. of the vocabulary, not yet multiplied with
// logit_scale.
struct LogitRows {
  int64_t tokens = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t stride = 0;  // elements from one token's logits to the next's: CudaLogitStride(rows)
  float logit_scale = 1.0f;
  float* logits = nullptr;               // [tokens, stride], of which `rows` are read
  const TokenRecord* records = nullptr;  // [tokens]
};

// Goes on with the sums of each token over the rows, in tiles of the vocabulary; starts them when
// first_row is 0.
CudaResult LaunchSumLogits(const LogitRows& rows, TokenSums* sums, CUstream_st* stream);

// Puts scale x (softmax - one at the label) as bf16 into the first half of each row of logits, so
// that 2 x stride elements lie from one row to the next; zeros for a token that counts nothing. Up
// to three elements behind the rows are written too.
CudaResult LaunchDifferentiateLogits(const LogitRows& rows, const TokenSums* sums, float scale,
                                     CUstream_st* stream);

// Adds losses and number of labelled tokens to `loss`, tile of tokens by tile.
CudaResult LaunchAddLosses(int64_t tokens, const TokenRecord* records, const TokenSums* sums,
                           LossSum* loss, CUstream_st* stream);

// rounded[i] = bf16(values[i]); count is a multiple of 8.
CudaResult LaunchRoundValues(int64_t count, const float* values, uint16_t* rounded,
                             CUstream_st* stream);
// values[i] = 0, of any type.
CudaResult LaunchZeroBytes(void* values, uint64_t bytes, CUstream_st* stream);

}  // namespace horizon
