// Products of few rows: their own code, reached through the ordinary product.
#include "kernels/gemm/few_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// Up to and past kFewRows; rows that are longer than they have to be.
struct Product {
  Gemm gemm;
  GuardedFloats a, b, c, bias, initial;

  Product(std::mt19937& random, int64_t m, int64_t n, int64_t k, int64_t gap)
      : a(RandomFloats(random, m * (k + gap))),
        b(RandomFloats(random, n * (k + gap))),
        c(m * (n + gap), 3.0f),
        bias(RandomFloats(random, n)),
        initial(RandomFloats(random, m * (n + gap))) {
    gemm = {.m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .a_stride = k + gap,
            .b = b.data(),
            .b_stride = k + gap,
            .c = c.data(),
            .c_stride = n + gap};
  }
  Product(const Product&) = delete;
};

void ExpectLikeReference(Product& product, KernelLane& lane, const char* target) {
  GuardedFloats expected(product.c.size());
  for (int64_t i = 0; i < expected.size(); ++i) expected[i] = product.c[i];
  Gemm exact = product.gemm;
  exact.c = expected.data();
  if (product.gemm.initial == product.gemm.c) exact.initial = exact.c;
  ASSERT_TRUE(GemmReference({}, exact).ok());
  ASSERT_TRUE(GemmHost(lane.context(), product.gemm).ok());
  // k terms of at most 1 in lanes of k / 16, and what they are added to.
  const double k = static_cast<double>(product.gemm.k);
  const double tolerance = kEpsilon * (4 + std::sqrt(k)) * (k / 4 + 2);
  for (int64_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(product.c[i], expected[i], tolerance)
        << target << ": " << product.gemm.m << " x " << product.gemm.n << " x " << product.gemm.k;
  }
  EXPECT_TRUE(product.c.guards_hold());
}

TEST(FewRows, EveryNumberOfRowsMatchesTheReferenceOnEveryTarget) {
  std::mt19937 random(1);
  ForEachTarget([&](const char* target) {
    KernelLane lane(2);
    for (int64_t m = 1; m <= kFewRows + 2; ++m) {
      for (const int64_t n : {1, 5, 600}) {
        for (const int64_t k : {0, 1, 15, 16, 33, 200}) {
          Product plain(random, m, n, k, m % 3);
          ExpectLikeReference(plain, lane, target);
          Product with_bias(random, m, n, k, 1);
          with_bias.gemm.bias = with_bias.bias.data();
          with_bias.gemm.initial = with_bias.initial.data();
          ExpectLikeReference(with_bias, lane, target);
          Product accumulating(random, m, n, k, 0);
          accumulating.gemm.initial = accumulating.c.data();
          accumulating.gemm.k_tile = 7;
          ExpectLikeReference(accumulating, lane, target);
        }
      }
    }
  });
}

// A text's numbers are the same in every batch of up to 8.
TEST(FewRows, ARowHasTheSameBitsInAnyProduct) {
  std::mt19937 random(2);
  KernelLane lane(2);
  Product all(random, kFewRows, 700, 133, 0);
  ASSERT_TRUE(GemmHost(lane.context(), all.gemm).ok());
  for (int64_t first = 0; first < kFewRows; ++first) {
    for (int64_t m = 1; first + m <= kFewRows; ++m) {
      GuardedFloats c(m * 700);
      Gemm part = all.gemm;
      part.m = m;
      part.a = part.a.From(first * part.a_stride);
      part.c = c.data();
      ASSERT_TRUE(GemmHost(lane.context(), part).ok());
      for (int64_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], all.c[first * 700 + i]);
    }
  }
}

}  // namespace
}  // namespace horizon
