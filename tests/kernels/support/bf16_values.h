#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

namespace horizon {

// bf16 numbers for tests, and a comparison that reports the worst element.

// The largest relative errors of one rounding to fp32 and to bf16.
inline constexpr double kFp32Unit = 0x1p-24;
inline constexpr double kBf16Unit = 0x1p-8;

// The value of a bf16.
inline float Widened(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }
// The nearest bf16 of a number that is not NaN; ties to even.
inline uint16_t Narrowed(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline std::vector<float> Widened(const std::vector<uint16_t>& halves) {
  std::vector<float> values(halves.size());
  for (size_t i = 0; i < halves.size(); ++i) values[i] = Widened(halves[i]);
  return values;
}
inline std::vector<uint16_t> Narrowed(const std::vector<float>& values) {
  std::vector<uint16_t> halves(values.size());
  for (size_t i = 0; i < values.size(); ++i) halves[i] = Narrowed(values[i]);
  return halves;
}

// Uniformly distributed random numbers in -scale .. scale.
inline std::vector<uint16_t> RandomBf16(std::mt19937& random, int64_t count, float scale = 1.0f) {
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  for (uint16_t& half : halves) half = Narrowed(uniform(random));
  return halves;
}

// Expects every element to be within bound(index) of the expected one. A failure names the element
// that is farthest out, relative to its bound.
inline void ExpectNear(std::string_view what, const std::vector<float>& actual,
                       const std::vector<float>& expected,
                       const std::function<double(size_t index)>& bound) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double worst = 0.0;
  size_t at = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double off = std::fabs(double{actual[i]} - double{expected[i]});
    const double share = off == 0.0 ? 0.0 : off / bound(i);
    if (share <= worst) continue;  // not when it is NaN
    worst = share;
    at = i;
    if (std::isnan(share)) break;
  }
  EXPECT_LE(worst, 1.0) << what << ": of " << actual.size() << " elements the worst is " << at
                        << ": " << actual[at] << " instead of " << expected[at] << ", bound "
                        << bound(at);
}

}  // namespace horizon
