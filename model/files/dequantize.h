#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace horizon {

// Dequantises values as transformers does. The functions are pure, and each value is computed by
// itself, so a tensor may be dequantised in pieces.

// The value of a code of e4m3fn: 1 sign bit, 4 bits of exponent (bias 7), 3 bits of mantissa. The
// codes 0x7F and 0xFF are NaN; there is no infinity, and the largest value is 448.
float FloatFromE4m3(uint8_t code);

// Writes code x scale for each code; `into` has as many values. The product is rounded to fp32
// once. With a bf16 scale it is exact, unless it is subnormal or too large.
void DequantizeE4m3(std::span<const std::byte> codes, float scale, std::span<float> into);

// The value of a 4-bit code of e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and from code 8 on the same with a
// minus sign (-0 included). `code` is below 16.
float FloatFromE2m1(uint8_t code);

// The numbers in one row of an MXFP4 matrix that share a scale, and the bytes that hold them.
inline constexpr uint64_t kMxfp4Block = 32;
inline constexpr uint64_t kMxfp4BlockBytes = 16;
// The scale that means NaN: a matrix that has it is not a matrix of numbers.
inline constexpr std::byte kMxfp4NanScale{0xFF};

// A matrix in MXFP4, output-major: for each row (an output), columns / 32 blocks of 16 bytes, and
// as many scales. `columns` is a multiple of 32.
struct Mxfp4Matrix {
  std::span<const std::byte> blocks;
  std::span<const std::byte> scales;
  uint64_t rows = 0;
  uint64_t columns = 0;
};

// Writes elements [first, first + into.size()) of the transposed matrix [columns, rows], which is
// how models keep it (input-major). Values are exact: a power of two only moves the exponent. A
// value beyond fp32 becomes an infinity, and with kMxfp4NanScale an infinity or NaN.
void DequantizeMxfp4Transposed(const Mxfp4Matrix& matrix, uint64_t first, std::span<float> into);

}  // namespace horizon
