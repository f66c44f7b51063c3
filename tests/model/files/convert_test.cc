#include "model/files/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace horizon {
namespace {

// The value of a small float from the definition of the format, in double; NaN for NaN.
double ValueOf(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const double sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1.0 : 1.0;
  const int all_ones = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & all_ones;
  const double mantissa = bits & ((1U << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == all_ones) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign *
         std::ldexp(mantissa + std::ldexp(1.0, mantissa_bits), exponent - bias - mantissa_bits);
}

struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  Dtype dtype;
  double ValueAt(uint32_t bits) const { return ValueOf(bits, exponent_bits, mantissa_bits); }
  uint32_t infinity() const { return ((1U << exponent_bits) - 1) << mantissa_bits; }
};

class SixteenBits : public testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(
    Formats, SixteenBits,
    testing::Values(Format{"F16", 5, 10, FloatFromF16, F16FromFloat, Dtype::kF16},
                    Format{"BF16", 8, 7, FloatFromBf16, Bf16FromFloat, Dtype::kBF16}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(SixteenBits, EveryPatternWidensToItsValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = GetParam().ValueAt(bits);
    const float found = GetParam().widen(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(found), expected) << bits;
    }
    ASSERT_EQ(std::signbit(found), bits >> 15 != 0) << bits;
  }
}

TEST_P(SixteenBits, EveryPatternSurvivesThereAndBack) {
  const uint32_t quiet = 1U << (GetParam().mantissa_bits - 1);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t back = GetParam().narrow(GetParam().widen(static_cast<uint16_t>(bits)));
    const bool is_nan = (bits & 0x7FFF) > GetParam().infinity();
    // A signalling NaN may become a quiet one; payload and sign stay.
    ASSERT_EQ(back, is_nan ? bits | quiet : bits) << bits;
  }
}

// Between two neighbours a < b of the format: a, the values around the middle, and b. The nearest
// is found in double, where the middle of two neighbours is exact.
TEST_P(SixteenBits, RoundsToNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < GetParam().infinity(); ++bits) {
    const double low = GetParam().ValueAt(bits);
    // Beyond the largest comes the power of two that would follow.
    const double high = bits + 1 == GetParam().infinity() ? 2 * std::ldexp(1.0, std::ilogb(low))
                                                          : GetParam().ValueAt(bits + 1);
    const auto middle = static_cast<float>(low + (high - low) / 2);
    if (std::isinf(middle)) continue;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    const float below = std::nextafterf(middle, 0.0F);
    const float above = std::nextafterf(middle, std::numeric_limits<float>::infinity());
    for (const uint32_t sign : {0U, 0x8000U}) {
      const float factor = sign == 0 ? 1.0F : -1.0F;
      ASSERT_EQ(static_cast<double>(middle), low + (high - low) / 2);
      ASSERT_EQ(GetParam().narrow(factor * middle), sign | even) << bits;
      ASSERT_EQ(GetParam().narrow(factor * below), sign | bits) << bits;
      ASSERT_EQ(GetParam().narrow(factor * above), sign | (bits + 1)) << bits;
    }
  }
}

TEST_P(SixteenBits, ExtremesOfFp32) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(GetParam().narrow(kInfinity), GetParam().infinity());
  EXPECT_EQ(GetParam().narrow(-kInfinity), 0x8000 | GetParam().infinity());
  EXPECT_EQ(GetParam().narrow(std::numeric_limits<float>::max()), GetParam().infinity());
  EXPECT_EQ(GetParam().narrow(-std::numeric_limits<float>::max()), 0x8000 | GetParam().infinity());
  EXPECT_EQ(GetParam().narrow(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(GetParam().narrow(-0.0F), 0x8000);
}

// A NaN whose payload lies in the bits that are cut must not become an infinity.
TEST_P(SixteenBits, NoNanBecomesInfinity) {
  for (uint32_t payload = 1; payload < (1U << 23); payload += payload < 0x10000 ? 1 : 4099) {
    for (const uint32_t sign : {0U, 0x80000000U}) {
      const auto value = std::bit_cast<float>(sign | 0x7F800000 | payload);
      const uint16_t bits = GetParam().narrow(value);
      ASSERT_GT(bits & 0x7FFF, GetParam().infinity()) << payload;
      ASSERT_EQ(bits >> 15, sign >> 31);
    }
  }
}

TEST_P(SixteenBits, SpansOfAnyLengthAndAlignmentAgreeWithSingleValues) {
  for (const size_t count : {0, 1, 2, 3, 7, 8, 31, 64, 1001}) {
    for (const size_t shift : {0, 1}) {
      std::vector<std::byte> bytes(2 * count + shift);
      std::vector<float> values(count);
      for (size_t i = 0; i < count; ++i) {
        const auto bits = static_cast<uint16_t>(i * 7919 + 13);
        std::memcpy(bytes.data() + shift + 2 * i, &bits, 2);
      }
      const auto source = std::span(bytes).subspan(shift);
      ASSERT_TRUE(ConvertToFloat(GetParam().dtype, source, values).ok());
      std::vector<std::byte> back(2 * count + shift);
      ASSERT_TRUE(ConvertFromFloat(values, GetParam().dtype, std::span(back).subspan(shift)).ok());
      for (size_t i = 0; i < count; ++i) {
        const auto bits = static_cast<uint16_t>(i * 7919 + 13);
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]),
                  std::bit_cast<uint32_t>(GetParam().widen(bits)));
        uint16_t found = 0;
        std::memcpy(&found, back.data() + shift + 2 * i, 2);
        ASSERT_EQ(found, GetParam().narrow(GetParam().widen(bits)));
      }
    }
  }
}

TEST(Convert, F32IsCopiedBitForBit) {
  const std::vector<uint32_t> bits = {0x7F800001, 0xFFC12345, 0x80000000, 1, 0x7F7FFFFF};
  std::vector<float> values(bits.size());
  ASSERT_TRUE(ConvertToFloat(Dtype::kF32, std::as_bytes(std::span(bits)), values).ok());
  std::vector<std::byte> back(4 * bits.size());
  ASSERT_TRUE(ConvertFromFloat(values, Dtype::kF32, back).ok());
  EXPECT_EQ(std::memcmp(back.data(), bits.data(), back.size()), 0);
}

TEST(Convert, OtherDtypesAndSizesAreRefused) {
  std::vector<float> values(4);
  std::vector<std::byte> bytes(16);
  for (const Dtype dtype : AllDtypes()) {
    const bool known = IsModelDtype(dtype);
    const auto part =
        std::span(bytes).first(4 * BitsOf(dtype) / 8 <= 16 ? 4 * BitsOf(dtype) / 8 : 0);
    EXPECT_EQ(ConvertToFloat(dtype, part, values).ok(), known) << ToString(dtype);
    EXPECT_EQ(ConvertFromFloat(values, dtype, part).ok(), known) << ToString(dtype);
  }
  EXPECT_FALSE(ConvertToFloat(Dtype::kF16, std::span(bytes).first(7), values).ok());
  EXPECT_FALSE(ConvertToFloat(Dtype::kF32, std::span(bytes).first(12), values).ok());
  EXPECT_FALSE(ConvertFromFloat(values, Dtype::kBF16, std::span(bytes).first(9)).ok());
}

}  // namespace
}  // namespace horizon
