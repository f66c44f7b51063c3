#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/text/str_cat.h"
#include "kernels/attention/attention.h"

namespace horizon {

// Ranges of positions, tiles of them, and the offsets of the arrays of attention.

// A range of positions, begin .. end - 1, of one sequence.
struct Positions {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

constexpr int64_t TileCount(int64_t sequence, int64_t tile) { return (sequence + tile - 1) / tile; }

// Tile number `index`; the last one may be shorter.
inline Positions TileAt(int64_t sequence, int64_t tile, int64_t index) {
  return {.begin = index * tile, .end = std::min(sequence, (index + 1) * tile)};
}

// The keys that token t of a row attends to. `row` points to the records of that row.
inline Positions VisibleKeys(const AttentionShape& shape, const TokenRecord* row, int64_t t) {
  const int64_t sample = t - row[t].position;
  return {.begin = shape.window > 0 ? std::max(sample, t - shape.window + 1) : sample,
          .end = t + 1};
}

// The keys that at least one query of a tile attends to. It is one range, because the first visible
// key never moves back within a row.
inline Positions KeysVisibleToTile(const AttentionShape& shape, const TokenRecord* row,
                                   const Positions& queries) {
  return {.begin = VisibleKeys(shape, row, queries.begin).begin, .end = queries.end};
}

// The positions that are in both ranges. An empty range has size() <= 0.
inline Positions Intersection(const Positions& a, const Positions& b) {
  return {.begin = std::max(a.begin, b.begin), .end = std::min(a.end, b.end)};
}

// Element offsets: from one token to the next, and of the vector of one token and head, in q and
// all arrays of its shape (Query...), and in k and v (Key...).
inline int64_t QueryStride(const AttentionShape& shape) { return shape.heads * shape.head_dim; }
inline int64_t KeyStride(const AttentionShape& shape) { return shape.kv_heads * shape.head_dim; }
inline int64_t QueryRow(const AttentionShape& shape, int64_t batch, int64_t head, int64_t t) {
  return (batch * shape.sequence + t) * QueryStride(shape) + head * shape.head_dim;
}
inline int64_t KeyRow(const AttentionShape& shape, int64_t batch, int64_t kv_head, int64_t t) {
  return (batch * shape.sequence + t) * KeyStride(shape) + kv_head * shape.head_dim;
}
// The element of a token and head in log_sum_exp and output_dot.
inline int64_t HeadEntry(const AttentionShape& shape, int64_t batch, int64_t head, int64_t t) {
  return (batch * shape.sequence + t) * shape.heads + head;
}

// InvalidArgument for sizes that are impossible.
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
