#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/text/str_cat.h"
#include "kernels/attention/attention.h"

namespace horizon {

// How host attention is cut. Few queries a tile, since half of the tile on the diagonal is thrown
// away; more keys, since they are what a query's sums run over.
inline constexpr int64_t kQueryTile = 64;
inline constexpr int64_t kKeyTile = 256;
// Elements from one row of scores to the next: not a power of two, for the cache's sake.
inline constexpr int64_t kScoreStride = kKeyTile + 16;

// Positions begin .. end - 1 of one sequence.
struct Positions {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

inline int64_t TileCount(int64_t sequence, int64_t tile) { return (sequence + tile - 1) / tile; }

inline Positions TileAt(int64_t sequence, int64_t tile, int64_t index) {
  return {.begin = index * tile, .end = std::min(sequence, (index + 1) * tile)};
}

// The keys that token t of a row sees; `row` are the records of that row.
inline Positions SeenBy(const AttentionShape& shape, const TokenRecord* row, int64_t t) {
  const int64_t sample = t - row[t].position;
  return {.begin = shape.window > 0 ? std::max(sample, t - shape.window + 1) : sample,
          .end = t + 1};
}

// The keys that some query of a tile sees: where they begin never goes back within a row.
inline Positions SeenByTile(const AttentionShape& shape, const TokenRecord* row,
                            const Positions& queries) {
  return {.begin = SeenBy(shape, row, queries.begin).begin, .end = queries.end};
}

// What lies in both; empty ranges have size() <= 0.
inline Positions Common(const Positions& a, const Positions& b) {
  return {.begin = std::max(a.begin, b.begin), .end = std::min(a.end, b.end)};
}

// Where the row of a position begins, in q and all arrays of its shape, and in k and v.
inline int64_t QueryStride(const AttentionShape& shape) { return shape.heads * shape.head_dim; }
inline int64_t KeyStride(const AttentionShape& shape) { return shape.kv_heads * shape.head_dim; }
inline int64_t QueryRow(const AttentionShape& shape, int64_t batch, int64_t head, int64_t t) {
  return (batch * shape.sequence + t) * QueryStride(shape) + head * shape.head_dim;
}
inline int64_t KeyRow(const AttentionShape& shape, int64_t batch, int64_t kv_head, int64_t t) {
  return (batch * shape.sequence + t) * KeyStride(shape) + kv_head * shape.head_dim;
}
// And in log_sum_exp and output_dot.
inline int64_t HeadEntry(const AttentionShape& shape, int64_t batch, int64_t head, int64_t t) {
  return (batch * shape.sequence + t) * shape.heads + head;
}

inline absl::Status CheckAttentionShape(const AttentionShape& shape) {
  if (shape.batch >= 0 && shape.sequence >= 0 && shape.window >= 0 && shape.kv_heads > 0 &&
      shape.heads > 0 && shape.heads % shape.kv_heads == 0 && shape.head_dim > 0 &&
      shape.head_dim <= kMaxHeadDim) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat("attention over ", shape.batch, " sequences of ", shape.sequence, " with window ",
             shape.window, ": ", shape.heads, " heads of ", shape.head_dim, " on ", shape.kv_heads,
             "; heads are a multiple of key heads, and 1 to ", kMaxHeadDim, " wide"));
}

}  // namespace horizon
