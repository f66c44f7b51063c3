#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of dispatch_cuda.cu on the stream and return the result of the
// launches, without waiting. bf16 is uint16_t, and all pointers are to device memory.

// The most experts that the shared memory of a thread block has counters for.
inline constexpr int kMostDispatchExperts = 512;

// Tokens are sorted in tiles of kDispatchTileTokens. There is at least one expert; there may be no
// tokens.
inline constexpr int kDispatchTileTokens = 128;
constexpr int64_t DispatchTiles(int64_t tokens) {
  return (tokens + kDispatchTileTokens - 1) / kDispatchTileTokens;
}
struct DispatchLaunch {
  int tokens = 0;
  int experts = 0;
  int per_token = 0;
  const int32_t* chosen = nullptr;
  int32_t* begins = nullptr;
  int32_t* row_pairs = nullptr;
  int32_t* row_tokens = nullptr;
  int32_t* pair_rows = nullptr;
  // Scratch: how many pairs of each expert are in a tile, then how many are in the tiles before it.
  int32_t* of_tiles = nullptr;  // [DispatchTiles(tokens), experts]
  int32_t* totals = nullptr;    // [experts]: in all tiles
};
CudaResult LaunchDispatch(const DispatchLaunch& args, CUstream_st* stream);

// There is at least one token and one column; the width is a multiple of 8.
struct CombinePairsLaunch {
  bool descending = false;
  int64_t tokens = 0;
  int64_t per_token = 0;
  int64_t width = 0;
  int64_t first_expert = 0;
  int64_t end_expert = 0;
  const int32_t* chosen = nullptr;
  const int32_t* pair_rows = nullptr;
  const uint16_t* rows = nullptr;
  bool add = false;
  float* sum = nullptr;
};
CudaResult LaunchCombinePairs(const CombinePairsLaunch& args, CUstream_st* stream);

}  // namespace horizon
