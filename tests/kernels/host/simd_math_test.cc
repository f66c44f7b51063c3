#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/host/simd_math_test.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

float SumHere(const float* values, int64_t count) { return Sum(values, count); }
float DotHere(const float* a, const float* b, int64_t count) { return Dot(a, b, count); }
float MaxHere(const float* values, int64_t count) { return Max(values, count); }
float ExpShiftedHere(const float* values, float shift, int64_t count, float* exps) {
  return ExpShifted(values, shift, count, exps);
}
void ExpHere(const float* x, int64_t count, float* y) {
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(F32(), Exp(LoadPart(F32(), x + i, n)), y + i, n);
  });
}
void FastExpHere(const float* x, int64_t count, float* y) {
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(F32(), FastExp(LoadPart(F32(), x + i, n)), y + i, n);
  });
}
void SigmoidHere(const float* x, int64_t count, float* y) {
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(F32(), Sigmoid(LoadPart(F32(), x + i, n)), y + i, n);
  });
}
void StoreHere(const GradientOut& out, const float* values, int64_t count) {
  StoreGradients(out, values, count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(SumHere);
HWY_EXPORT(DotHere);
HWY_EXPORT(MaxHere);
HWY_EXPORT(ExpShiftedHere);
HWY_EXPORT(ExpHere);
HWY_EXPORT(FastExpHere);
HWY_EXPORT(SigmoidHere);
HWY_EXPORT(StoreHere);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Random(size_t count, float scale = 1.0f) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

// 16 sums, element i to sum i mod 16, then those in ascending order; products rounded first.
float SixteenSums(const float* a, const float* b, int64_t count) {
  float lanes[16] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i % 16] += b == nullptr ? a[i] : a[i] * b[i];
  float sum = lanes[0];
  for (int lane = 1; lane < 16; ++lane) sum += lanes[lane];
  return sum;
}

TEST(SimdMath, SumsHaveTheirOrderOnEveryTargetAtEveryPlace) {
  const std::vector<float> a = Random(1200, 3.0f);
  const std::vector<float> b = Random(1300, 2.0f);
  ForEachTarget([&](const char* target) {
    for (const int64_t count : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 100, 1000}) {
      for (int64_t shift = 0; shift < 5; ++shift) {
        const float* x = a.data() + shift;
        const float* y = b.data() + 3 * shift;
        ASSERT_EQ(HWY_DYNAMIC_DISPATCH(SumHere)(x, count), SixteenSums(x, nullptr, count))
            << target << " " << count;
        ASSERT_EQ(HWY_DYNAMIC_DISPATCH(DotHere)(x, y, count), SixteenSums(x, y, count))
            << target << " " << count;
        const float max = count == 0 ? -kInfinity : *std::max_element(x, x + count);
        ASSERT_EQ(HWY_DYNAMIC_DISPATCH(MaxHere)(x, count), max) << target << " " << count;
      }
    }
  });
}

// Of values below zero, so that a rest filled up with zeros would show.
TEST(SimdMath, MaximumOfNegativeNumbersIsOneOfThem) {
  const std::vector<float> values(19, -5.0f);
  ForEachTarget([&](const char* target) {
    for (const int64_t count : {1, 3, 9, 17, 19}) {
      EXPECT_EQ(HWY_DYNAMIC_DISPATCH(MaxHere)(values.data(), count), -5.0f) << target;
    }
  });
}

// Highway states less than 1 ulp for its exp; two more for a processor without fused products.
TEST(SimdMath, ExpIsWithinThreeUnits) {
  std::vector<float> x;
  for (float value = -87.0f; value < 88.7f; value += 0.00713f) x.push_back(value);
  std::vector<float> y(x.size());
  ForEachTarget([&](const char* target) {
    HWY_DYNAMIC_DISPATCH(ExpHere)(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(double{x[i]});
      ASSERT_NEAR(y[i], exact, exact * 3 * 0x1p-24 * 2) << target << " of " << x[i];
    }
  });
}

TEST(SimdMath, ExpAtTheEndsOfItsRange) {
  const std::vector<float> x = {
      0.0f,  -0.0f,     -200.0f, -kInfinity, 89.0f,
      1e30f, kInfinity, -1e30f,  -95.0f,     std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> y(x.size());
  ForEachTarget([&](const char* target) {
    HWY_DYNAMIC_DISPATCH(ExpHere)(x.data(), static_cast<int64_t>(x.size()), y.data());
    EXPECT_EQ(y[0], 1.0f) << target;
    EXPECT_EQ(y[1], 1.0f) << target;
    EXPECT_EQ(y[2], 0.0f) << target;
    EXPECT_EQ(y[3], 0.0f) << target;
    EXPECT_EQ(y[4], kInfinity) << target;
    EXPECT_EQ(y[5], kInfinity) << target;
    EXPECT_EQ(y[6], kInfinity) << target;
    EXPECT_EQ(y[7], 0.0f) << target;
    EXPECT_NEAR(y[8], std::exp(-95.0), 0x1p-149) << target;  // a denormal number
    EXPECT_TRUE(std::isnan(y[9])) << target;
  });
}

// 1.01 units are the most over every fifth float of the range, on any target.
TEST(SimdMath, FastExpIsWithinTwoUnits) {
  std::vector<float> x;
  for (float value = -87.29f; value < 88.0f; value += 0.00037f) x.push_back(value);
  // Small values too, among them those just above 0 that rounding leaves in attention.
  for (float value = 1.0f; value > 1e-30f; value *= 0.97f) {
    x.push_back(value);
    x.push_back(-value);
  }
  std::vector<float> y(x.size());
  ForEachTarget([&](const char* target) {
    HWY_DYNAMIC_DISPATCH(FastExpHere)(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(double{x[i]});
      const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
      ASSERT_NEAR(y[i], exact, 2 * unit) << target << " of " << x[i];
    }
  });
}

TEST(SimdMath, FastExpAtTheEndsOfItsRange) {
  const std::vector<float> x = {0.0f,       -0.0f,
                                -87.4f,     -200.0f,
                                -1e30f,     std::numeric_limits<float>::lowest(),
                                -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> y(x.size());
  ForEachTarget([&](const char* target) {
    HWY_DYNAMIC_DISPATCH(FastExpHere)(x.data(), static_cast<int64_t>(x.size()), y.data());
    EXPECT_EQ(y[0], 1.0f) << target;
    EXPECT_EQ(y[1], 1.0f) << target;
    for (size_t i = 2; i < 7; ++i) EXPECT_EQ(y[i], 0.0f) << target << " of " << x[i];
    EXPECT_TRUE(std::isnan(y[7])) << target;
  });
}

TEST(SimdMath, SigmoidHasNoOverflowAndKeepsNaN) {
  const std::vector<float> x = {
      -kInfinity, -1e4f, -60.0f, -1.0f,     0.0f,
      1.0f,       60.0f, 1e4f,   kInfinity, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> y(x.size());
  ForEachTarget([&](const char* target) {
    HWY_DYNAMIC_DISPATCH(SigmoidHere)(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i + 1 < x.size(); ++i) {
      const double exact = 1.0 / (1.0 + std::exp(-double{x[i]}));
      // exp, a sum and a quotient: 4 units and a half, relative.
      EXPECT_NEAR(y[i], exact, exact * 5 * 0x1p-23) << target << " of " << x[i];
    }
    EXPECT_TRUE(std::isnan(y.back())) << target;
  });
}

TEST(SimdMath, ExpShiftedSumsWhatItWrites) {
  const std::vector<float> values = Random(101, 20.0f);
  ForEachTarget([&](const char* target) {
    for (const int64_t count : {0, 1, 5, 16, 33, 101}) {
      std::vector<float> exps(values.size(), -1.0f);
      std::vector<float> alone(values.size());
      std::vector<float> shifted(values.size());
      for (size_t i = 0; i < values.size(); ++i) shifted[i] = values[i] - 2.5f;
      const float sum =
          HWY_DYNAMIC_DISPATCH(ExpShiftedHere)(values.data(), 2.5f, count, exps.data());
      HWY_DYNAMIC_DISPATCH(ExpHere)(shifted.data(), count, alone.data());
      EXPECT_EQ(sum, SixteenSums(exps.data(), nullptr, count)) << target << " " << count;
      for (int64_t i = 0; i < 101; ++i) {
        const auto at = static_cast<size_t>(i);
        EXPECT_EQ(exps[at], i < count ? alone[at] : -1.0f) << target << " " << i;
      }
    }
  });
}

// The nearest of the two bf16 numbers around a value, by distance; the even one in the middle.
uint16_t NearestBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto below = static_cast<uint16_t>(bits >> 16);
  if (std::isinf(value)) return below;
  const auto above = static_cast<uint16_t>(below + 1);
  const auto widened = [](uint16_t half) {
    const float wide = std::bit_cast<float>(uint32_t{half} << 16);
    return std::isinf(wide) ? std::copysign(0x1p128, double{wide}) : double{wide};
  };
  const double down = std::fabs(double{value} - widened(below));
  const double up = std::fabs(widened(above) - double{value});
  if (down != up) return down < up ? below : above;
  return below % 2 == 0 ? below : above;
}

TEST(SimdMath, EveryUpperHalfWithLowerHalvesAroundTheTieIsRoundedToNearestEven) {
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  std::vector<uint16_t> halves(values.size());
  ForEachTarget([&](const char* target) {
    HWY_DYNAMIC_DISPATCH(StoreHere)
    (GradientOut{.bf16 = halves.data()}, values.data(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) {
        ASSERT_GT(halves[i] & 0x7FFF, 0x7F80) << target << " " << i;
      } else {
        ASSERT_EQ(halves[i], NearestBf16(values[i])) << target << " " << values[i];
      }
    }
  });
}

TEST(SimdMath, GradientsAreStoredAsGradientOutSaysAndNothingBesideThem) {
  const std::vector<float> values = Random(40);
  ForEachTarget([&](const char* target) {
    for (int64_t count = 0; count <= 37; ++count) {
      for (const bool add : {false, true}) {
        for (const bool rounded : {false, true}) {
          std::vector<float> sums(42, 0.375f);
          HWY_DYNAMIC_DISPATCH(StoreHere)
          (GradientOut{.sum = sums.data() + 1, .add = add, .rounded = rounded}, values.data() + 2,
           count);
          for (int64_t i = 0; i < 42; ++i) {
            const bool inside = i >= 1 && i <= count;
            const float value = inside ? values[static_cast<size_t>(i + 1)] : 0.0f;
            const float stored =
                rounded ? std::bit_cast<float>(uint32_t{NearestBf16(value)} << 16) : value;
            const float expected = !inside ? 0.375f : add ? 0.375f + stored : stored;
            ASSERT_EQ(sums[static_cast<size_t>(i)], expected) << target << " " << count << " " << i;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace horizon
#endif  // HWY_ONCE
