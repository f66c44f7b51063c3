#include "model/files/dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/check.h"

namespace horizon {
namespace {

// Rows of an MXFP4 matrix that are dequantised side by side: what is one column of them is 64 bytes
// of the transposed matrix.
constexpr uint64_t kTileRows = 16;

// The loops over codes compute with integers what a table would look up, since the compiler makes
// vector code of the first and not of the second.

// e4m3fn: exponent and mantissa of the code become those of an fp32, whose bias is 120 larger. The
// codes below 8 have no leading one: as fp32 they would be 2^-7 x (1 + m / 8) and are m x 2^-9.
float E4m3(uint32_t code) {
  const uint32_t magnitude = code & 0x7F;
  const float normal = std::bit_cast<float>((magnitude << 20) + (120U << 23));
  const float small = normal * 2 - 0x1p-6F;
  const float value = magnitude < 8 ? small : normal;
  const uint32_t sign = (code & 0x80) << 24;
  const uint32_t nan = magnitude == 0x7F ? 0x7FC00000 : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign | nan);
}

// e2m1: the same with a bias that is 126 larger; the codes 0 and 1 are 0 and 0.5.
float E2m1(uint32_t code) {
  const uint32_t magnitude = code & 7;
  const uint32_t normal = (magnitude << 22) + (126U << 23);
  const uint32_t small = magnitude == 0 ? 0 : 0x3F000000;
  return std::bit_cast<float>((magnitude < 2 ? small : normal) | (code & 8) << 28);
}

// 2^(scale - 127). The smallest is a subnormal number, the largest (of the scale that means NaN) an
// infinity.
float Mxfp4Scale(std::byte scale) {
  const auto exponent = static_cast<uint32_t>(scale);
  return std::bit_cast<float>(exponent == 0 ? uint32_t{0x00400000} : exponent << 23);
}

// The columns [begin, end) of one block of up to kTileRows rows, column by column.
class Tile {
 public:
  // `row` is the first of `rows` rows; `block` counts the blocks of a row.
  Tile(const Mxfp4Matrix& matrix, uint64_t row, uint64_t rows, uint64_t block) {
    const uint64_t blocks = matrix.columns / kMxfp4Block;
    for (uint64_t i = 0; i < rows; ++i) {
      const uint64_t at = (row + i) * blocks + block;
      scales_[i] = Mxfp4Scale(matrix.scales[at]);
      const std::byte* codes = matrix.blocks.data() + at * kMxfp4BlockBytes;
      for (uint64_t j = 0; j < kMxfp4BlockBytes; ++j) codes_[j][i] = static_cast<uint8_t>(codes[j]);
    }
  }

  // The values of a column of the block, of all kTileRows rows.
  void Column(uint64_t column, float* into) const {
    const auto& codes = codes_[column / 2];
    const uint32_t shift = column % 2 == 0 ? 0 : 4;
    for (uint64_t i = 0; i < kTileRows; ++i) {
      into[i] = E2m1(uint32_t{codes[i]} >> shift & 15) * scales_[i];
    }
  }

 private:
  std::array<std::array<uint8_t, kTileRows>, kMxfp4BlockBytes> codes_ = {};
  std::array<float, kTileRows> scales_ = {};
};

}  // namespace

float FloatFromE4m3(uint8_t code) { return E4m3(code); }

float FloatFromE2m1(uint8_t code) { return E2m1(code); }

void DequantizeE4m3(std::span<const std::byte> codes, float scale, std::span<float> into) {
  CHECK(codes.size() == into.size());
  const std::byte* from = codes.data();
  float* to = into.data();
  for (size_t i = 0; i < codes.size(); ++i) to[i] = E4m3(static_cast<uint32_t>(from[i])) * scale;
}

void DequantizeMxfp4Transposed(const Mxfp4Matrix& matrix, uint64_t first, std::span<float> into) {
  const uint64_t elements = matrix.rows * matrix.columns;
  CHECK(matrix.columns % kMxfp4Block == 0);
  CHECK(matrix.scales.size() == elements / kMxfp4Block);
  CHECK(matrix.blocks.size() == matrix.scales.size() * kMxfp4BlockBytes);
  CHECK(first <= elements && into.size() <= elements - first);
  if (into.empty()) return;
  const uint64_t end = first + into.size();
  // The columns that the range has a part of.
  const uint64_t column_begin = first / matrix.rows;
  const uint64_t column_end = (end - 1) / matrix.rows + 1;
  std::array<float, kTileRows> values;
  for (uint64_t block = column_begin / kMxfp4Block; block * kMxfp4Block < column_end; ++block) {
    const uint64_t begin = std::max(column_begin, block * kMxfp4Block);
    const uint64_t stop = std::min(column_end, (block + 1) * kMxfp4Block);
    for (uint64_t row = 0; row < matrix.rows; row += kTileRows) {
      const uint64_t rows = std::min(kTileRows, matrix.rows - row);
      const Tile tile(matrix, row, rows, block);
      for (uint64_t column = begin; column < stop; ++column) {
        // Elements [at, at + rows) of the transposed matrix, as far as they are asked for.
        const uint64_t at = column * matrix.rows + row;
        const uint64_t from = std::max(at, first);
        const uint64_t to = std::min(at + rows, end);
        if (from >= to) continue;
        if (to - from == kTileRows) {
          tile.Column(column % kMxfp4Block, into.data() + (from - first));
          continue;
        }
        tile.Column(column % kMxfp4Block, values.data());
        std::copy_n(values.begin() + static_cast<ptrdiff_t>(from - at), to - from,
                    into.begin() + static_cast<ptrdiff_t>(from - first));
      }
    }
  }
}

}  // namespace horizon
