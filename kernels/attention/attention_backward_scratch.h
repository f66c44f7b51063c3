#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_strips.h"
#include "kernels/attention/attention_tiles.h"

namespace horizon {

// Fewer keys where heads are wide: at most as many as lie in about 128 KiB.
constexpr int64_t BackwardKeyTile(int64_t head_dim) {
  return std::clamp<int64_t>(
      (int64_t{1} << 15) / Padded(head_dim) / kBackwardQueryTile * kBackwardQueryTile,
      kBackwardQueryTile, kLargestBackwardKeyTile);
}

// What attention backward on the host needs in scratch memory for one tile of keys. Rows are padded
// to whole strips with zeros.
struct BackwardScratch {
  int64_t width;         // head_dim, padded
  int64_t row_stride;    // of arrays of vectors
  int64_t score_stride;  // of arrays with a column for each key
  float* k_columns;      // [head_dim, keys]
  float* v_columns;      // [head_dim, keys]
  float* k_rows;         // [keys, width]
  float* k_gradient;     // [keys, width]
  float* v_gradient;     // [keys, width]
  // Of a tile of queries:
  float* q_rows;           // [kBackwardQueryTile, width], times the scale of the scores
  float* output_gradient;  // [kBackwardQueryTile, width]
  float* q_gradient;       // [kBackwardQueryTile, width]
  float* scores;           // [kBackwardQueryTile, keys], then probabilities
  float* score_gradients;  // [kBackwardQueryTile, keys]

  BackwardScratch(float* scratch, int64_t head_dim, int64_t key_tile)
      : width(Padded(head_dim)),
        row_stride(TileStride(width)),
        score_stride(TileStride(key_tile)),
        k_columns(scratch),
        v_columns(k_columns + head_dim * score_stride),
        k_rows(v_columns + head_dim * score_stride),
        k_gradient(k_rows + key_tile * row_stride),
        v_gradient(k_gradient + key_tile * row_stride),
        q_rows(v_gradient + key_tile * row_stride),
        output_gradient(q_rows + kBackwardQueryTile * row_stride),
        q_gradient(output_gradient + kBackwardQueryTile * row_stride),
        scores(q_gradient + kBackwardQueryTile * row_stride),
        score_gradients(scores + kBackwardQueryTile * score_stride) {}

  // How many floats that are in all.
  static constexpr int64_t Floats(int64_t head_dim, int64_t key_tile) {
    return (3 * key_tile + 3 * kBackwardQueryTile) * TileStride(Padded(head_dim)) +
           (2 * head_dim + 2 * kBackwardQueryTile) * TileStride(key_tile);
  }
};

// One tile of keys of one key head.
struct KeyTile {
  const AttentionBackward& args;
  int64_t batch;
  int64_t kv_head;
  SampleTile place;
  BackwardScratch scratch;

  // Positions in the sample.
  const Positions& keys() const { return place.positions; }
  int64_t key_row() const {
    return KeyRow(args.shape, batch, kv_head, place.origin + place.positions.begin);
  }
};

}  // namespace horizon
