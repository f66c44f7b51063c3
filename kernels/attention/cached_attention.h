#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/device_parts.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Keys and values of the tokens a row has had so far, and the attention of its next token to them:
// how text is generated without computing all of it again for every token.
//
// A cache is two arrays k and v [batch, places, kv_heads x head_dim], after rotary. The token at
// position p of a row (TokenRecord::position) lies at place p mod places. A layer whose window is
// the number of places so finds there what it sees and nothing else.
struct KvCache {
  int64_t batch = 0;
  int64_t places = 0;  // of a row
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  Values k;
  Values v;
};

// Puts keys and values of the first sample of every row into the cache: of the tokens from the
// row's first on whose positions count up by one. Of more tokens than there are places the last
// ones stay. InvalidArgument for impossible sizes.
struct StoreKeys {
  KvCache cache;
  int64_t sequence = 0;                  // tokens of a row
  const TokenRecord* records = nullptr;  // [batch x sequence]
  ConstValues k;                         // [batch x sequence, kv_heads x head_dim]
  ConstValues v;
};
absl::Status StoreKeysReference(const KernelContext& context, const StoreKeys& args);
absl::Status StoreKeysHost(const KernelContext& context, const StoreKeys& args);
// On the context's stream, without waiting; bf16 at multiples of 16 bytes, head_dim a multiple of 8
// up to kMaxHeadDim. A row's samples after its first count their positions from 0.
absl::Status StoreKeysCuda(const KernelContext& context, const StoreKeys& args);

// Attention of one token a row, whose own key and value are in the cache already: at position p it
// sees min(p + 1, places) places, from place 0 on. Head h reads the keys of head
// h / (heads / kv_heads). A row's result does not depend on the other rows.
//
// Places are taken in tiles of kCacheTile with an online softmax, each row and key head by one
// worker. InvalidArgument for impossible sizes.
inline constexpr int64_t kCacheTile = 256;
struct CachedAttention {
  KvCache cache;
  int64_t heads = 0;
  float scale = 1.0f;                    // of the scores
  const TokenRecord* records = nullptr;  // [batch]
  ConstValues q;                         // [batch, heads x head_dim]
  Values output;                         // as q
};
absl::Status CachedAttentionReference(const KernelContext& context, const CachedAttention& args);
absl::Status CachedAttentionHost(const KernelContext& context, const CachedAttention& args);
// As StoreKeysCuda. Tiles of places are attended to side by side, in device workspace.
absl::Status CachedAttentionCuda(const KernelContext& context, const CachedAttention& args);

inline int64_t CacheTiles(const KvCache& cache) {
  return (cache.places + kCacheTile - 1) / kCacheTile;
}
// Where it lies there; of each row, head and tile.
struct CachedAttentionMemory {
  float* largest;  // [batch, heads, tiles]
  float* sum;      // [batch, heads, tiles]
  float* values;   // [batch, heads, tiles, head_dim]

  CachedAttentionMemory(const KvCache& cache, int64_t heads, DeviceParts& parts) {
    const int64_t tiles = cache.batch * heads * CacheTiles(cache);
    largest = parts.Take<float>(tiles);
    sum = parts.Take<float>(tiles);
    values = parts.Take<float>(tiles * cache.head_dim);
  }
};
inline uint64_t CachedAttentionWorkspaceBytes(const KvCache& cache, int64_t heads) {
  DeviceParts parts;
  CachedAttentionMemory(cache, heads, parts);
  return parts.taken();
}

}  // namespace horizon
