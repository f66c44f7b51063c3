#include "model/files/dequantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "tests/model/quantized_folder.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

std::vector<uint32_t> BitsOfValues(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(FloatFromE4m3, IsTheDefinitionForEveryCode) {
  for (unsigned code = 0; code < 256; ++code) {
    const float value = FloatFromE4m3(static_cast<uint8_t>(code));
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(ReferenceE4m3(code)))
          << code;
    }
  }
  EXPECT_EQ(FloatFromE4m3(0x7E), 448.0F);
  EXPECT_EQ(FloatFromE4m3(0x01), 0x1p-9F);
}

TEST(FloatFromE2m1, IsTheDefinitionForEveryCode) {
  for (unsigned code = 0; code < 16; ++code) {
    EXPECT_EQ(std::bit_cast<uint32_t>(FloatFromE2m1(static_cast<uint8_t>(code))),
              std::bit_cast<uint32_t>(ReferenceE2m1(code)))
        << code;
  }
}

TEST(DequantizeE4m3, RoundsTheProductOnceToFp32) {
  std::vector<std::byte> codes(256);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
  for (const float scale : {0.0F, 1.0F, 0x1.FEp-12F, 0.1F, 0x1p-149F, 0x1.8p-127F, 1e38F}) {
    std::vector<float> got(codes.size());
    DequantizeE4m3(codes, scale, got);
    for (unsigned code = 0; code < 256; ++code) {
      if ((code & 0x7F) == 0x7F) {
        EXPECT_TRUE(std::isnan(got[code]));
        continue;
      }
      const double exact = static_cast<double>(ReferenceE4m3(code)) * scale;
      EXPECT_EQ(std::bit_cast<uint32_t>(got[code]),
                std::bit_cast<uint32_t>(static_cast<float>(exact)))
          << code << " x " << scale;
    }
  }
}

// Lengths that vector code has to treat specially.
TEST(DequantizeE4m3, AnyLengthIsTheSameValueByValue) {
  const std::vector<std::byte> codes = PatternBytes(200, 3);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t count = 0; count < 70; ++count) {
      std::vector<float> got(count + 2, 77.0F);
      DequantizeE4m3(std::span(codes).subspan(begin, count), 0.5F,
                     std::span(got).subspan(1, count));
      EXPECT_EQ(got.front(), 77.0F);
      EXPECT_EQ(got.back(), 77.0F);
      for (size_t i = 0; i < count; ++i) {
        const float wanted = ReferenceE4m3(static_cast<unsigned>(codes[begin + i])) * 0.5F;
        ASSERT_TRUE(got[i + 1] == wanted || (std::isnan(wanted) && std::isnan(got[i + 1])));
      }
    }
  }
}

// The whole transposed matrix, by the definition.
std::vector<float> Transposed(const Mxfp4Matrix& matrix) {
  std::vector<float> values(matrix.rows * matrix.columns);
  for (uint64_t row = 0; row < matrix.rows; ++row) {
    for (uint64_t column = 0; column < matrix.columns; ++column) {
      const uint64_t at = row * matrix.columns + column;
      const auto byte = static_cast<unsigned>(matrix.blocks[at / 2]);
      const unsigned code = at % 2 == 0 ? byte & 15 : byte >> 4;
      values[column * matrix.rows + row] =
          std::ldexp(ReferenceE2m1(code), static_cast<int>(matrix.scales[at / 32]) - 127);
    }
  }
  return values;
}

TEST(DequantizeMxfp4, EveryRangeOfTheTransposedMatrixHasTheValuesOfTheWhole) {
  for (const uint64_t rows : {1, 2, 15, 16, 17, 33, 48}) {
    for (const uint64_t columns : {32, 64, 96}) {
      const std::vector<std::byte> blocks = PatternBytes(rows * columns / 2, 1);
      const std::vector<std::byte> scales = PatternBytes(rows * columns / 32, 2);
      const Mxfp4Matrix matrix{
          .blocks = blocks, .scales = scales, .rows = rows, .columns = columns};
      const std::vector<uint32_t> wanted = BitsOfValues(Transposed(matrix));
      for (uint64_t first = 0; first <= wanted.size(); first += 1 + first % 31) {
        for (uint64_t count = 0; count <= wanted.size() - first; count += 1 + count % 53) {
          std::vector<float> got(count + 2, 77.0F);
          DequantizeMxfp4Transposed(matrix, first, std::span(got).subspan(1, count));
          EXPECT_EQ(got.front(), 77.0F);
          EXPECT_EQ(got.back(), 77.0F);
          const std::vector<uint32_t> bits = BitsOfValues(std::span(got).subspan(1, count));
          ASSERT_TRUE(std::equal(bits.begin(), bits.end(),
                                 wanted.begin() + static_cast<std::ptrdiff_t>(first)))
              << rows << " x " << columns << ", " << count << " from " << first;
        }
      }
    }
  }
}

// Every code with every scale: the products are exact down to 2^-128, and overflow where 6 x
// 2^(scale - 127) does.
TEST(DequantizeMxfp4, EveryScaleMovesTheExponentAlone) {
  std::vector<std::byte> blocks(16);
  for (unsigned i = 0; i < 16; ++i) blocks[i] = static_cast<std::byte>(i | (15 - i) << 4);
  for (unsigned scale = 0; scale < 255; ++scale) {
    const std::vector<std::byte> scales = {static_cast<std::byte>(scale)};
    std::vector<float> got(32);
    DequantizeMxfp4Transposed({.blocks = blocks, .scales = scales, .rows = 1, .columns = 32}, 0,
                              got);
    for (unsigned i = 0; i < 32; ++i) {
      const unsigned code = i % 2 == 0 ? i / 2 : 15 - i / 2;
      const double exact =
          std::ldexp(static_cast<double>(ReferenceE2m1(code)), static_cast<int>(scale) - 127);
      EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(static_cast<float>(exact)))
          << code << " scale " << scale;
      EXPECT_EQ(std::isinf(got[i]), std::abs(exact) >= 0x1p128);
    }
  }
}

}  // namespace
}  // namespace horizon
