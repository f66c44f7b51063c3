#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// The launchers of attention_cuda.cu. Pointers are to device memory and aligned to 16 bytes, widths
// are multiples of 8, none of the sizes is 0.

// Keys from one row of scores to the next: those of a tile.
inline constexpr int kDeviceKeyTile = 512;

// Heads side by side, [tokens, heads, width], and one behind the other, [heads, tokens, width].
struct HeadsOfTokens {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t width = 0;
};
CudaResult LaunchPackHeads(const HeadsOfTokens& shape, const uint16_t* side_by_side,
                           uint16_t* packed, CUstream_st* stream);
// And back, rounded to bf16; with heads = 1 an array is rounded as it lies.
CudaResult LaunchUnpackHeads(const HeadsOfTokens& shape, const float* packed,
                             uint16_t* side_by_side, CUstream_st* stream);

// sums[i] = 0.
CudaResult LaunchZeros(float* sums, int64_t count, CUstream_st* stream);

// Some queries of one sequence, all heads, and the keys of a tile. Rows of scores are those of
// [heads, queries].
struct ScoreTile {
  const TokenRecord* records = nullptr;  // of the sequence
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t first_query = 0;
  int64_t first_key = 0;
  int64_t keys = 0;  // at most kDeviceKeyTile
  int64_t window = 0;
};

// The online softmax (Milakov and Gimelshein 2018) goes on over the keys of a tile: scores become
// exp(score - largest) as bf16, 0 where a query does not see a key, in the first half of their row
// (2 kDeviceKeyTile elements from one row to the next); output is multiplied with what earlier sums
// have to be multiplied with now. With `begins` nothing came before.
struct SoftmaxTile {
  ScoreTile tile;
  float* scores = nullptr;   // [heads, queries, kDeviceKeyTile]
  float* largest = nullptr;  // [heads, queries]
  float* sum = nullptr;      // [heads, queries]
  float* output = nullptr;   // [heads, queries, width]
  int64_t width = 0;
  bool begins = false;
};
CudaResult LaunchSoftmaxTile(const SoftmaxTile& args, CUstream_st* stream);

// output / sum as bf16, side by side, and the logarithm of the softmax's denominator.
struct FinishedQueries {
  HeadsOfTokens shape;             // of these queries
  const float* largest = nullptr;  // [heads, tokens]
  const float* sum = nullptr;
  const float* packed = nullptr;  // [heads, tokens, width]
  uint16_t* output = nullptr;     // [tokens, heads, width]
  float* log_sum_exp = nullptr;   // [tokens, heads]
};
CudaResult LaunchFinishQueries(const FinishedQueries& args, CUstream_st* stream);

// dots[i] = a[i] . b[i], rows of `width`.
struct RowDots {
  int64_t rows = 0;
  int64_t width = 0;
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
  float* dots = nullptr;
};
CudaResult LaunchRowDots(const RowDots& args, CUstream_st* stream);

// Scores become probabilities, and the gradients of probabilities those of the scores (before
// `scale`), both as bf16 in the first half of their row, 0 where a query does not see a key.
struct ScoreGradients {
  ScoreTile tile;
  const float* log_sum_exp = nullptr;  // [queries, heads]
  const float* output_dot = nullptr;   // [queries, heads]
  float* scores = nullptr;             // [heads, queries, kDeviceKeyTile]
  float* gradients = nullptr;          // the same
};
CudaResult LaunchScoreGradients(const ScoreGradients& args, CUstream_st* stream);

}  // namespace horizon
