#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of cached_attention_cuda.cu on the stream and return the
// result of the launch, without waiting. Pointers are to device memory and aligned to 16 bytes,
// widths are multiples of 8, and no size is 0. cached_attention.h describes the cache.

// Stores the keys, or the values, of the first sample of every row in the cache.
struct StoreKeysLaunch {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t places = 0;
  int64_t width = 0;  // kv_heads x head_dim
  const TokenRecord* records = nullptr;
  const uint16_t* from = nullptr;  // keys or values, [batch, sequence, width]
  uint16_t* to = nullptr;          // [batch, places, width]
};
CudaResult LaunchStoreKeys(const StoreKeysLaunch& args, CUstream_st* stream);

// Attention in two kernels: the first attends with every head to every tile of 256 places, the
// second combines the tiles of a head. Tiles past the places that a row attends to are neither
// computed nor read.
struct CachedAttentionLaunch {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  unsigned group = 1;  // heads / kv_heads
  int64_t head_dim = 0;
  int64_t places = 0;
  int64_t tiles = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;  // [batch]
  const uint16_t* q = nullptr;           // [batch, heads, head_dim]
  const uint16_t* k = nullptr;           // [batch, places, kv_heads, head_dim]
  const uint16_t* v = nullptr;
  const uint16_t* sinks = nullptr;  // [heads]; null: none
  // The partial results of each row, head and tile: the largest score, the sum of exp(score -
  // largest), and the sum of the values weighted with these exponentials.
  float* largest = nullptr;    // [batch, heads, tiles]
  float* sum = nullptr;        // [batch, heads, tiles]
  float* values = nullptr;     // [batch, heads, tiles, head_dim]
  uint16_t* output = nullptr;  // shape of q
};
CudaResult LaunchCachedAttention(const CachedAttentionLaunch& args, CUstream_st* stream);

}  // namespace horizon
