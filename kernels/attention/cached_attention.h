#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"
#include "kernels/arguments/workspace_allocator.h"

namespace horizon {

// The KV cache of text generation, and the attention of one new token per row to it.
//
// The cache holds the keys and values of the tokens that a row has had so far, after rotary: two
// arrays k and v[batch, places, kv_heads x head_dim]. Each row is a ring buffer: the token at
// position p (TokenRecord::position) is stored at place p mod places. So in a layer with a sliding
// window of `places` tokens the cache holds exactly the tokens that the next token attends to.
struct KvCache {
  int64_t batch = 0;
  int64_t places = 0;  // tokens that a row of the cache can hold
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  Values k;
  Values v;
};

// Stores the keys and values of the first sample of every row in the cache. The first sample is the
// row's first token and all that follow it with positions that count up by one. If it has more
// tokens than there are places, the last ones stay. InvalidArgument for impossible sizes.
struct StoreKeys {
  KvCache cache;
  int64_t sequence = 0;                  // tokens of a row
  const TokenRecord* records = nullptr;  // [batch x sequence]
  ConstValues k;                         // [batch x sequence, kv_heads x head_dim]
  ConstValues v;
};
absl::Status StoreKeysReference(const KernelContext& context, const StoreKeys& args);
absl::Status StoreKeysHost(const KernelContext& context, const StoreKeys& args);
// Runs on the context's stream and does not wait for it. Arrays are bf16 and begin at multiples of
// 16 bytes; head_dim is a multiple of 8, up to kMaxHeadDim. The positions of a row's later samples
// must count from 0.
absl::Status StoreKeysCuda(const KernelContext& context, const StoreKeys& args);

// The attention of one token per row to the cache, which already holds the token's own key and
// value. A token at position p attends to min(p + 1, places) places, from place 0 on. Head h reads
// the keys and values of key head h / (heads / kv_heads). Attention sinks are those of attention.h.
// The result of a row does not depend on the other rows.
//
// The host kernel works on tiles of kCacheTile places with an online softmax; one worker handles
// each row and key head. InvalidArgument for impossible sizes.
inline constexpr int64_t kCacheTile = 256;
struct CachedAttention {
  KvCache cache;
  int64_t heads = 0;
  float scale = 1.0f;                    // factor of the scores
  const TokenRecord* records = nullptr;  // [batch]
  ConstValues q;                         // [batch, heads x head_dim]
  ConstValues sinks;                     // [heads], finite; null: the model has none
  Values output;                         // shape of q
};
absl::Status CachedAttentionReference(const KernelContext& context, const CachedAttention& args);
absl::Status CachedAttentionHost(const KernelContext& context, const CachedAttention& args);
// As StoreKeysCuda; the sinks are bf16 at any address. Thread blocks attend to the tiles of places
// in parallel; their partial results are in the device workspace, of CachedAttentionWorkspaceBytes.
absl::Status CachedAttentionCuda(const KernelContext& context, const CachedAttention& args);

inline int64_t CacheTiles(const KvCache& cache) {
  return (cache.places + kCacheTile - 1) / kCacheTile;
}
// The partial results of each row, head and tile in the device workspace.
struct CachedAttentionMemory {
  float* largest;  // [batch, heads, tiles], of the scores
  float* sum;      // [batch, heads, tiles], of exp(score - largest)
  float* values;   // [batch, heads, tiles, head_dim], weighted with exp(score - largest)

  CachedAttentionMemory(const KvCache& cache, int64_t heads, WorkspaceAllocator& workspace) {
    const int64_t tiles = cache.batch * heads * CacheTiles(cache);
    largest = workspace.Allocate<float>(tiles);
    sum = workspace.Allocate<float>(tiles);
    values = workspace.Allocate<float>(tiles * cache.head_dim);
  }
};
inline uint64_t CachedAttentionWorkspaceBytes(const KvCache& cache, int64_t heads) {
  WorkspaceAllocator workspace;
  CachedAttentionMemory(cache, heads, workspace);
  return workspace.allocated_bytes();
}

}  // namespace horizon
