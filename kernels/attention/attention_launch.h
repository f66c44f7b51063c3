#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of attention_cuda.cu on the stream and return the result of
// the launch, without waiting. Pointers are to device memory and aligned to 16 bytes, widths are
// multiples of 8, and no size is 0. attention_cuda.cc puts them together with matrix multiplies.

// Keys of a tile, which is also the number of elements from one row of scores to the next.
inline constexpr int kDeviceKeyTile = 512;

// Head vectors in one of two layouts: token-major [tokens, heads, width] or head-major
// [heads, tokens, width].
struct HeadsOfTokens {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t width = 0;
};
// Copies from token-major to head-major.
CudaResult LaunchPackHeads(const HeadsOfTokens& shape, const uint16_t* token_major,
                           uint16_t* head_major, CUstream_st* stream);
// Copies back to token-major and rounds to bf16. With heads = 1 both layouts are the same, and the
// array is only rounded.
CudaResult LaunchUnpackHeads(const HeadsOfTokens& shape, const float* head_major,
                             uint16_t* token_major, CUstream_st* stream);

// sums[i] = 0.
CudaResult LaunchZeros(float* sums, int64_t count, CUstream_st* stream);

// A tile of scores: some queries of one sequence, in all heads, and the keys of one tile. The rows
// of scores are in the order [heads, queries].
struct ScoreTile {
  const TokenRecord* records = nullptr;  // of the whole sequence
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t first_query = 0;
  int64_t first_key = 0;
  int64_t keys = 0;  // at most kDeviceKeyTile
  int64_t window = 0;
};

// Continues the online softmax (Milakov and Gimelshein 2018) over the keys of one tile. `largest`
// and `sum` are the running maximum of the scores and the running sum of exp(score - largest). The
// function updates both, replaces the scores by exp(score - largest) as bf16, or 0 where a query
// does not attend to a key, and rescales the running output where the maximum has grown. The bf16
// numbers are in the first half of each row, so that rows are 2 kDeviceKeyTile of their elements
// apart. In the first tile the running maximum and sum begin with the sinks.
struct SoftmaxTile {
  ScoreTile tile;
  const uint16_t* sinks = nullptr;  // [heads]; null: none
  float* scores = nullptr;          // [heads, queries, kDeviceKeyTile]
  float* largest = nullptr;         // [heads, queries]
  float* sum = nullptr;             // [heads, queries]
  float* output = nullptr;          // [heads, queries, width]
  int64_t width = 0;
  bool is_first_tile = false;  // there is no running maximum, sum and output yet
};
CudaResult LaunchSoftmaxTile(const SoftmaxTile& args, CUstream_st* stream);

// Ends the softmax of some queries: stores head_major / sum as bf16 in token-major layout, and the
// logarithm of the sum of exponentials.
struct UnnormalizedOutput {
  HeadsOfTokens shape;                // its tokens are these queries
  const float* largest = nullptr;     // [heads, tokens]
  const float* sum = nullptr;         // [heads, tokens]
  const float* head_major = nullptr;  // [heads, tokens, width]
  uint16_t* output = nullptr;         // [tokens, heads, width]
  float* log_sum_exp = nullptr;       // [tokens, heads]
};
CudaResult LaunchNormalizeOutput(const UnnormalizedOutput& args, CUstream_st* stream);

// dots[i] = the dot product of row i of a and row i of b; rows have `width` elements.
struct RowDots {
  int64_t rows = 0;
  int64_t width = 0;
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
  float* dots = nullptr;
};
CudaResult LaunchRowDots(const RowDots& args, CUstream_st* stream);

// Replaces scores by probabilities, and the gradients of the probabilities by the gradients of the
// scores (before `scale`). Both are bf16 in the first half of their row, and 0 where a query does
// not attend to a key.
struct ScoreGradients {
  ScoreTile tile;
  const float* log_sum_exp = nullptr;  // [queries, heads]
  const float* output_dot = nullptr;   // [queries, heads]
  float* scores = nullptr;             // [heads, queries, kDeviceKeyTile]
  float* gradients = nullptr;          // shape of scores
};
CudaResult LaunchScoreGradients(const ScoreGradients& args, CUstream_st* stream);

}  // namespace horizon
