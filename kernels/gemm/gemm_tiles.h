#pragma once

#include <cstdint>

namespace horizon {

// The tiles into which the host kernels cut the result of a matrix multiply. They depend on its
// sizes alone: at most kLargestTile rows and columns each, of nearly equal size, and in a number
// that 2, 4 or 8 workers can share evenly.
inline constexpr int64_t kLargestTile = 512;

struct TileSizes {
  int64_t m = 0;
  int64_t n = 0;

  // Tiles of a result of `rows` x `columns`.
  int64_t CountOf(int64_t rows, int64_t columns) const {
    return ((rows + m - 1) / m) * ((columns + n - 1) / n);
  }
};

// Chooses the tiles of a result of `m` x `n`, both > 0. A tile size that is given (> 0) is kept;
// the tile size of the other side then depends on the length of that side only.
TileSizes ChooseTiles(int64_t m, int64_t n, int64_t m_tile, int64_t n_tile);

// Columns of a bias gradient that a worker sums together.
inline constexpr int64_t kBiasStripColumns = 64;

}  // namespace horizon
