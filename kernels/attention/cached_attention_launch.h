#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/token_record.h"

struct CUstream_st;

namespace horizon {

// The launchers of cached_attention_cuda.cu. Pointers are to device memory and aligned to 16 bytes,
// widths are multiples of 8, none of the sizes is 0.

struct StoreKeysLaunch {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t places = 0;
  int64_t width = 0;  // of all key heads
  const TokenRecord* records = nullptr;
  const uint16_t* from = nullptr;  // keys or values, [batch, sequence, width]
  uint16_t* to = nullptr;          // [batch, places, width]
};
CudaResult LaunchStoreKeys(const StoreKeysLaunch& args, CUstream_st* stream);

// Attention in two passes: every head to every tile of 256 places, then the tiles of a head.
// Tiles beyond the places a row sees are neither computed nor read.
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
  // Of each row, head and tile: largest score, sum of exp(score - largest), and the values weighted
  // with these.
  float* largest = nullptr;  // [batch, heads, tiles]
  float* sum = nullptr;
  float* values = nullptr;     // [batch, heads, tiles, head_dim]
  uint16_t* output = nullptr;  // as q
};
CudaResult LaunchCachedAttention(const CachedAttentionLaunch& args, CUstream_st* stream);

}  // namespace horizon
