#include "kernels/gemm/gemm_tiles.h"

#include <algorithm>
#include <limits>

namespace horizon {
namespace {

constexpr int64_t kStep = 32;
constexpr int64_t kLeastTile = 64;
// A tile of m x n takes the time of (m + 24)(n + 24): BLAS copies both inputs of each tile. Fitted
// to single-threaded calls of 128 .. 512 a side on an EPYC with AVX2, November 2026.
constexpr int64_t kTileOverhead = 24;

int64_t Pieces(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

// Rounds of tiles that 2, 4 and 8 workers need, each weighted by what a round of few workers costs.
int64_t Rounds(int64_t tiles) { return Pieces(tiles, 2) + Pieces(tiles, 4) + Pieces(tiles, 8); }

// The tile of one side alone: the least total time, a short last tile counted as a whole one.
int64_t ChooseTile(int64_t size) {
  int64_t best = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t tile = kLargestTile; tile >= kLeastTile; tile -= kStep) {
    const int64_t length = std::min(tile, size);
    const int64_t cost = (length + kTileOverhead) * Pieces(size, length);
    if (cost < least) {
      least = cost;
      best = length;
    }
  }
  return best;
}

}  // namespace

TileSizes ChooseTiles(int64_t m, int64_t n, int64_t m_tile, int64_t n_tile) {
  if (m_tile > 0 || n_tile > 0) {
    return {.m = m_tile > 0 ? m_tile : ChooseTile(m), .n = n_tile > 0 ? n_tile : ChooseTile(n)};
  }
  TileSizes best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t rows = kLargestTile; rows >= kLeastTile; rows -= kStep) {
    for (int64_t columns = kLargestTile; columns >= kLeastTile; columns -= kStep) {
      const TileSizes tiles = {.m = std::min(rows, m), .n = std::min(columns, n)};
      const int64_t cost =
          (tiles.m + kTileOverhead) * (tiles.n + kTileOverhead) * Rounds(tiles.CountOf(m, n));
      if (cost < least) {
        least = cost;
        best = tiles;
      }
    }
  }
  return best;
}

}  // namespace horizon
