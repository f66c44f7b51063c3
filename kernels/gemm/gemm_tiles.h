#pragma once

#include <cstdint>

namespace horizon {

// How the result of a product is cut, from its sizes alone: tiles of at most kLargestTile a side,
// of nearly equal size, and in a number that 2, 4 or 8 workers can share evenly.
inline constexpr int64_t kLargestTile = 512;

struct TileSizes {
  int64_t m = 0;
  int64_t n = 0;

  int64_t CountOf(int64_t rows, int64_t columns) const {
    return ((rows + m - 1) / m) * ((columns + n - 1) / n);
  }
};

// Of a result of `m` x `n`, both > 0. A side whose tile is given (> 0) keeps it, and the tile of
// the other side then depends on that other side's length only.
TileSizes ChooseTiles(int64_t m, int64_t n, int64_t m_tile, int64_t n_tile);

// Columns of a bias gradient that are summed together.
inline constexpr int64_t kBiasStripColumns = 64;

}  // namespace horizon
