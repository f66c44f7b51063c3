#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/token_record.h"

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
  float* k = nullptr;
  float* v = nullptr;
};

// Puts keys and values of the first sample of every row into the cache: of the tokens from the
// row's first on whose positions count up by one. Of more tokens than there are places the last
// ones stay. InvalidArgument for impossible sizes.
struct StoreKeys {
  KvCache cache;
  int64_t sequence = 0;                  // tokens of a row
  const TokenRecord* records = nullptr;  // [batch x sequence]
  const float* k = nullptr;              // [batch x sequence, kv_heads x head_dim]
  const float* v = nullptr;
};
absl::Status StoreKeysReference(const KernelContext& context, const StoreKeys& args);
absl::Status StoreKeysHost(const KernelContext& context, const StoreKeys& args);

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
  const float* q = nullptr;              // [batch, heads x head_dim]
  float* output = nullptr;               // as q
};
absl::Status CachedAttentionReference(const KernelContext& context, const CachedAttention& args);
absl::Status CachedAttentionHost(const KernelContext& context, const CachedAttention& args);

}  // namespace horizon
