#include "kernels/optimizer/split_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace horizon {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kLeastRefused = 0x7F7F8000;

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

bool IsAccepted(uint32_t bits) { return (bits & 0x7FFFFFFF) < kLeastRefused; }

// The bf16 nearest to a finite float, ties away from zero, from the values and not from the bits:
// bf16 numbers of one binade are `unit` apart, and std::round does the rest in exact double.
uint16_t NearestBf16(float value) {
  const double magnitude = std::fabs(static_cast<double>(value));
  int exponent = 0;
  std::frexp(magnitude, &exponent);     // magnitude in [2^(exponent - 1), 2^exponent)
  constexpr int kLeastExponent = -125;  // of the smallest normal, 2^-126
  const double unit = std::ldexp(1.0, std::max(exponent, kLeastExponent) - 8);
  const double rounded = std::round(magnitude / unit) * unit;
  const auto narrow = static_cast<float>(std::copysign(rounded, static_cast<double>(value)));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(narrow) >> 16);
}

struct Bodies {
  const char* name;
  decltype(&SplitMasterReference) split;
  decltype(&JoinMasterReference) join;
};

class SplitMasterTest : public testing::TestWithParam<Bodies> {
 protected:
  // Splits, checks hi against the independent rounding, joins, and compares the bits.
  void ExpectExact(const std::vector<float>& master) {
    std::vector<uint16_t> hi(master.size());
    std::vector<int16_t> lo(master.size());
    std::vector<float> joined(master.size());
    const absl::Status split = GetParam().split(master, hi, lo);
    ASSERT_TRUE(split.ok()) << split;
    const absl::Status join = GetParam().join(hi, lo, joined);
    ASSERT_TRUE(join.ok()) << join;
    for (size_t i = 0; i < master.size(); ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(master[i]);
      ASSERT_EQ(std::bit_cast<uint32_t>(joined[i]), bits) << "index " << i;
      ASSERT_EQ(hi[i], NearestBf16(master[i])) << "index " << i << " bits " << bits;
      ASSERT_EQ(static_cast<uint16_t>(lo[i]), bits & 0xFFFF) << "index " << i;
    }
  }
};

// Denormals, both zeros, the largest accepted number and the ties are among them.
TEST_P(SplitMasterTest, EveryUpperHalfWithTheLowerHalvesAroundTheTieIsExact) {
  for (const uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
    std::vector<float> master;
    for (uint32_t upper = 0; upper < 0x10000; ++upper) {
      if (IsAccepted(upper << 16 | lower)) master.push_back(FromBits(upper << 16 | lower));
    }
    ASSERT_GT(master.size(), 65'000u);
    ExpectExact(master);
  }
}

TEST_P(SplitMasterTest, EveryLowerHalfIsExactWhereRoundingIsDelicate) {
  // Zeros and least denormals, the step to normals, one, an odd and a full mantissa (the carry goes
  // into the exponent), the largest binade; both signs.
  for (const uint32_t upper : {0x0000u, 0x0001u, 0x007Fu, 0x0080u, 0x3F80u, 0x3F81u, 0x3FFFu,
                               0x7F7Eu, 0x7F7Fu, 0x8000u, 0x807Fu, 0xBFFFu, 0xFF7Fu}) {
    std::vector<float> master;
    for (uint32_t lower = 0; lower < 0x10000; ++lower) {
      if (IsAccepted(upper << 16 | lower)) master.push_back(FromBits(upper << 16 | lower));
    }
    ASSERT_GE(master.size(), 0x8000u);
    ExpectExact(master);
  }
}

TEST_P(SplitMasterTest, RandomBitsAreExact) {
  std::mt19937 random(1);
  std::vector<float> master;
  while (master.size() < 1'000'000) {
    const uint32_t bits = static_cast<uint32_t>(random());
    if (IsAccepted(bits)) master.push_back(FromBits(bits));
  }
  ExpectExact(master);
}

TEST_P(SplitMasterTest, KnownValues) {
  const std::vector<float> master = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     FromBits(0x3F808000),
                                     FromBits(0xBF808000),
                                     FromBits(0x3F807FFF),
                                     FromBits(0x00000001),
                                     FromBits(0x7F7F7FFF)};
  std::vector<uint16_t> hi(master.size());
  std::vector<int16_t> lo(master.size());
  ASSERT_TRUE(GetParam().split(master, hi, lo).ok());
  EXPECT_EQ(hi, (std::vector<uint16_t>{0, 0x8000, 0x3F80, 0x3F81, 0xBF81, 0x3F80, 0, 0x7F7F}));
  EXPECT_EQ(lo, (std::vector<int16_t>{0, 0, 0, -32768, -32768, 32767, 1, 32767}));
}

TEST_P(SplitMasterTest, OddSizesAndPlacesAreExactAndNothingBesideThemIsWritten) {
  constexpr size_t kRoom = 80;
  constexpr uint16_t kGuard = 0xABCD;
  for (size_t count = 0; count <= 67; ++count) {
    for (size_t shift = 0; shift < 4; ++shift) {
      std::vector<float> master(kRoom, -1.0f);
      std::vector<uint16_t> hi(kRoom, kGuard);
      std::vector<int16_t> lo(kRoom, static_cast<int16_t>(kGuard));
      for (size_t i = 0; i < kRoom; ++i)
        master[i] = FromBits(0x3F807FF0u + static_cast<uint32_t>(i));
      const auto source = std::span(master).subspan(shift, count);
      ASSERT_TRUE(GetParam()
                      .split(source, std::span(hi).subspan(shift, count),
                             std::span(lo).subspan(shift, count))
                      .ok());
      std::vector<float> joined(kRoom, 42.0f);
      ASSERT_TRUE(GetParam()
                      .join(std::span(hi).subspan(shift, count),
                            std::span(lo).subspan(shift, count),
                            std::span(joined).subspan(shift, count))
                      .ok());
      for (size_t i = 0; i < kRoom; ++i) {
        const bool inside = i >= shift && i < shift + count;
        ASSERT_EQ(joined[i], inside ? master[i] : 42.0f) << count << " " << shift << " " << i;
        if (!inside) {
          ASSERT_EQ(hi[i], kGuard);
          ASSERT_EQ(static_cast<uint16_t>(lo[i]), kGuard);
        }
      }
    }
  }
}

TEST_P(SplitMasterTest, NonFiniteAndTooLargeMastersAreRefusedAtTheLowestIndex) {
  constexpr size_t kCount = 37;
  for (const uint32_t bad :
       {0x7F7F8000u, 0x7F7FFFFFu, 0x7F800000u, 0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF7F8000u,
        0xFF800000u, 0xFFC00000u, 0xFFFF8000u, 0xFFFFFFFFu}) {
    for (size_t index = 0; index < kCount; ++index) {
      std::vector<float> master(kCount, 1.0f);
      std::memcpy(&master[index], &bad, sizeof(bad));
      master[kCount - 1] = std::numeric_limits<float>::infinity();
      std::vector<uint16_t> hi(kCount);
      std::vector<int16_t> lo(kCount);
      const absl::Status status = GetParam().split(master, hi, lo);
      ASSERT_TRUE(absl::IsInvalidArgument(status)) << std::hex << bad << " " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("index " + std::to_string(index) + " "));
    }
  }
}

TEST_P(SplitMasterTest, HalvesThatNoSplitMakesAreRefusedAtTheLowestIndex) {
  struct Halves {
    uint16_t hi;
    int16_t lo;
  };
  for (const Halves bad : {Halves{0x7F80, 0},
                           {0x7F80, -32768},
                           {0x7FC0, 1},
                           {0xFF80, 0},
                           {0xFF80, -32768},
                           {0xFFFF, 32767},
                           {0x0000, -1},
                           {0x8000, -1},
                           {0x0000, -32768},
                           {0x8000, -32768}}) {
    std::vector<uint16_t> hi(21, 0x3F80);
    std::vector<int16_t> lo(21, -5);
    std::vector<float> master(21);
    hi[13] = hi[20] = bad.hi;
    lo[13] = lo[20] = bad.lo;
    const absl::Status status = GetParam().join(hi, lo, master);
    ASSERT_TRUE(absl::IsDataLoss(status)) << bad.hi << " " << bad.lo << " " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("index 13 "));
  }
}

// Join accepts exactly what Split makes: every pair of halves around the borders, against Split.
TEST_P(SplitMasterTest, JoinAcceptsAPairOnlyIfSplitGivesItBack) {
  for (const int low : {-32768, -32767, -1, 0, 1, 32767}) {
    for (uint32_t upper = 0; upper < 0x10000; ++upper) {
      const std::vector<uint16_t> hi = {static_cast<uint16_t>(upper)};
      const std::vector<int16_t> lo = {static_cast<int16_t>(low)};
      std::vector<float> master(1);
      const bool accepted = GetParam().join(hi, lo, master).ok();
      const uint32_t bits = (upper << 16) + static_cast<uint32_t>(low);
      ASSERT_EQ(accepted, IsAccepted(bits)) << upper << " " << low;
      if (!accepted) continue;
      std::vector<uint16_t> hi_again(1);
      std::vector<int16_t> lo_again(1);
      ASSERT_TRUE(GetParam().split(master, hi_again, lo_again).ok());
      ASSERT_EQ(hi_again, hi);
      ASSERT_EQ(lo_again, lo);
    }
  }
}

TEST_P(SplitMasterTest, DifferentLengthsAreRefused) {
  std::vector<float> master(3);
  std::vector<uint16_t> hi(3);
  std::vector<int16_t> lo(3);
  const auto two = [](auto& values) { return std::span(values).first(2); };
  EXPECT_TRUE(absl::IsInvalidArgument(GetParam().split(two(master), hi, lo)));
  EXPECT_TRUE(absl::IsInvalidArgument(GetParam().split(master, two(hi), lo)));
  EXPECT_TRUE(absl::IsInvalidArgument(GetParam().split(master, hi, two(lo))));
  EXPECT_TRUE(absl::IsInvalidArgument(GetParam().join(two(hi), lo, master)));
  EXPECT_TRUE(absl::IsInvalidArgument(GetParam().join(hi, two(lo), master)));
  EXPECT_TRUE(absl::IsInvalidArgument(GetParam().join(hi, lo, two(master))));
}

INSTANTIATE_TEST_SUITE_P(Bodies, SplitMasterTest,
                         testing::Values(Bodies{"Reference", &SplitMasterReference,
                                                &JoinMasterReference},
                                         Bodies{"Host", &SplitMasterHost, &JoinMasterHost}),
                         [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace horizon
