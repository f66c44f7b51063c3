#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/gemm/gemm_tiles.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();
constexpr GemmForm kForms[] = {GemmForm::kForward, GemmForm::kInputGradient,
                               GemmForm::kWeightGradient};

// A product with its arrays; rows are `gap` longer than they have to be.
struct Product {
  Gemm gemm;
  GuardedFloats a;
  GuardedFloats b;
  GuardedFloats c;
  GuardedFloats bias;
  GuardedFloats initial;

  Product(std::mt19937& random, GemmForm form, int64_t m, int64_t n, int64_t k, int64_t gap = 0)
      : a(RandomFloats(random, (k + gap) * (m + gap) + (k + m) * gap)),
        b(RandomFloats(random, (k + gap) * (n + gap) + (k + n) * gap)),
        c(m * (n + gap), std::numeric_limits<float>::quiet_NaN()),
        bias(RandomFloats(random, n)),
        initial(RandomFloats(random, m * (n + gap))) {
    gemm = {.form = form,
            .m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .a_stride = (form == GemmForm::kWeightGradient ? m : k) + gap,
            .b = b.data(),
            .b_stride = (form == GemmForm::kForward ? k : n) + gap,
            .c = c.data(),
            .c_stride = n + gap};
  }
  Product(const Product&) = delete;
};

std::vector<float> Magnitudes(const GuardedFloats& values) {
  std::vector<float> magnitudes;
  for (const float value : values.span()) magnitudes.push_back(std::fabs(value));
  return magnitudes;
}

// Checks host against reference. n terms of random sign carry about sqrt(n) roundings of half an
// epsilon of the running sum, which is at most the sum of magnitudes; 4 is for the few last ones
// and for luck.
void ExpectLikeReference(Product& product, KernelLane& lane) {
  const Gemm& gemm = product.gemm;
  const auto entries = static_cast<size_t>(gemm.m * gemm.c_stride);
  std::vector<float> expected(entries);
  std::vector<float> bound(entries);
  std::vector<float> begin(entries);
  Gemm exact = gemm;
  exact.c = expected.data();
  if (gemm.initial == gemm.c) {
    std::copy_n(gemm.c.fp32(), entries, begin.begin());
    exact.initial = begin.data();
  }
  ASSERT_TRUE(GemmReference({}, exact).ok());
  const std::vector<float> a = Magnitudes(product.a);
  const std::vector<float> b = Magnitudes(product.b);
  Gemm magnitude = gemm;
  magnitude.a = a.data();
  magnitude.b = b.data();
  magnitude.c = bound.data();
  magnitude.bias = magnitude.initial = nullptr;
  ASSERT_TRUE(GemmReference({}, magnitude).ok());
  const absl::Status status = GemmHost(lane.context(), gemm);
  ASSERT_TRUE(status.ok()) << status;
  const float roundings = 4 + std::sqrt(static_cast<float>(gemm.k));
  for (int64_t i = 0; i < gemm.m; ++i) {
    for (int64_t j = 0; j < gemm.n; ++j) {
      const auto at = static_cast<size_t>(i * gemm.c_stride + j);
      ASSERT_NEAR(gemm.c[at], expected[at], kEpsilon * roundings * (bound[at] + 2))
          << i << "," << j << " of " << gemm.m << " x " << gemm.n << " x " << gemm.k << " form "
          << static_cast<int>(gemm.form);
    }
    for (int64_t j = gemm.n; j < gemm.c_stride; ++j) {
      ASSERT_TRUE(std::isnan(gemm.c[i * gemm.c_stride + j])) << "a gap was written";
    }
  }
  ASSERT_TRUE(product.c.guards_hold());
}

TEST(Gemm, EveryFormMatchesTheReferenceAtSmallAndOddSizes) {
  std::mt19937 random(1);
  KernelLane lane(2);
  for (const GemmForm form : kForms) {
    for (const int64_t m : {0, 1, 3, 17, 66}) {
      for (const int64_t n : {0, 1, 5, 64, 131}) {
        for (const int64_t k : {0, 1, 7, 40}) {
          Product product(random, form, m, n, k, (m + n + k) % 3);
          ExpectLikeReference(product, lane);
        }
      }
    }
  }
}

TEST(Gemm, LargeProductsOfManyTilesMatchTheReference) {
  std::mt19937 random(2);
  KernelLane lane(3);
  for (const GemmForm form : kForms) {
    Product product(random, form, 601, 530, 333, 3);
    ExpectLikeReference(product, lane);
  }
}

TEST(Gemm, BiasAndInitialAreAddedOnce) {
  std::mt19937 random(3);
  KernelLane lane(2);
  for (const GemmForm form : kForms) {
    for (const int64_t k : {0, 9, 400}) {
      for (const int64_t k_tile : {0, 7}) {
        Product with_bias(random, form, 70, 133, k, 2);
        with_bias.gemm.bias = with_bias.bias.data();
        with_bias.gemm.k_tile = k_tile;
        ExpectLikeReference(with_bias, lane);
        Product with_both(random, form, 70, 133, k, 2);
        with_both.gemm.bias = with_both.bias.data();
        with_both.gemm.initial = with_both.initial.data();
        with_both.gemm.k_tile = k_tile;
        ExpectLikeReference(with_both, lane);
        Product accumulating(random, form, 70, 133, k, 0);
        for (float& value : accumulating.c.span()) value = 0.75f;
        accumulating.gemm.initial = accumulating.c.data();
        accumulating.gemm.k_tile = k_tile;
        ExpectLikeReference(accumulating, lane);
      }
    }
  }
}

TEST(Gemm, SameBitsForAnyNumberOfWorkers) {
  std::mt19937 random(4);
  for (int round = 0; round < 8; ++round) {
    const auto size = [&] { return 1 + static_cast<int64_t>(random() % 700); };
    Product product(random, kForms[round % 3], size(), size(), size());
    KernelLane one(1);
    ASSERT_TRUE(GemmHost(one.context(), product.gemm).ok());
    for (const int workers : {2, 3, 5}) {
      KernelLane several(workers);
      GuardedFloats c(product.c.size(), 7.0f);
      Gemm gemm = product.gemm;
      gemm.c = c.data();
      ASSERT_TRUE(GemmHost(several.context(), gemm).ok());
      EXPECT_TRUE(SameBits(c, product.c)) << workers << " workers, round " << round;
    }
  }
}

// Rows, columns and terms of a product taken in any number of calls that begin at whole tiles.
TEST(Gemm, ACutAtWholeTilesGivesTheBitsOfTheWhole) {
  std::mt19937 random(5);
  KernelLane lane(2);
  for (int round = 0; round < 30; ++round) {
    const int64_t tile_of[] = {16, 48, 100};
    const int64_t m_tile = tile_of[random() % 3];
    const int64_t n_tile = tile_of[random() % 3];
    const int64_t k_tile = tile_of[random() % 3];
    Product product(random, kForms[round % 3], m_tile * 5 + 3, n_tile * 4 + 1, k_tile * 6 + 5);
    const int sides = static_cast<int>(random() % 3);
    product.gemm.k_tile = k_tile;
    if (sides != 1) product.gemm.m_tile = m_tile;
    if (sides != 0) product.gemm.n_tile = n_tile;
    Gemm& whole = product.gemm;
    ASSERT_TRUE(GemmHost(lane.context(), whole).ok());
    const auto cuts = [&](int64_t size, int64_t tile) {
      std::vector<int64_t> at = {0};
      if (tile > 0) {
        for (int64_t next = tile; next < size; next += tile) {
          if (random() % 2 == 0) at.push_back(next);
        }
      }
      at.push_back(size);
      return at;
    };
    GuardedFloats c(product.c.size(), 7.0f);
    const std::vector<int64_t> rows = cuts(whole.m, whole.m_tile);
    const std::vector<int64_t> columns = cuts(whole.n, whole.n_tile);
    const std::vector<int64_t> terms = cuts(whole.k, whole.k_tile);
    for (size_t r = 0; r + 1 < rows.size(); ++r) {
      for (size_t s = 0; s + 1 < columns.size(); ++s) {
        for (size_t t = 0; t + 1 < terms.size(); ++t) {
          Gemm part = whole;
          part.m = rows[r + 1] - rows[r];
          part.n = columns[s + 1] - columns[s];
          part.k = terms[t + 1] - terms[t];
          part.a = part.a.From(whole.form == GemmForm::kWeightGradient
                                   ? terms[t] * whole.a_stride + rows[r]
                                   : rows[r] * whole.a_stride + terms[t]);
          part.b = part.b.From(whole.form == GemmForm::kForward
                                   ? columns[s] * whole.b_stride + terms[t]
                                   : terms[t] * whole.b_stride + columns[s]);
          part.c = c.data() + rows[r] * whole.c_stride + columns[s];
          part.initial = t > 0 ? part.c : nullptr;
          ASSERT_TRUE(GemmHost(lane.context(), part).ok());
        }
      }
    }
    EXPECT_TRUE(SameBits(c, product.c)) << "round " << round;
  }
}

TEST(Gemm, GradientFormsAreTheDerivativesOfTheForwardForm) {
  // The loss sum(G Y) is linear in X and in W, and small whole numbers make all sums exact: raising
  // one entry by 1 changes the loss by exactly its gradient.
  constexpr int64_t kTokens = 3;
  constexpr int64_t kIn = 5;
  constexpr int64_t kOut = 4;
  std::mt19937 random(6);
  const auto whole_numbers = [&](int64_t size) {
    GuardedFloats values(size);
    for (float& value : values.span()) value = static_cast<float>(random() % 9) - 4.0f;
    return values;
  };
  GuardedFloats x = whole_numbers(kTokens * kIn);
  GuardedFloats w = whole_numbers(kOut * kIn);
  const GuardedFloats g = whole_numbers(kTokens * kOut);
  const auto loss = [&] {
    GuardedFloats y(kTokens * kOut);
    EXPECT_TRUE(GemmReference({}, {.m = kTokens,
                                   .n = kOut,
                                   .k = kIn,
                                   .a = x.data(),
                                   .a_stride = kIn,
                                   .b = w.data(),
                                   .b_stride = kIn,
                                   .c = y.data(),
                                   .c_stride = kOut})
                    .ok());
    float sum = 0;
    for (int64_t i = 0; i < y.size(); ++i) sum += y[i] * g[i];
    return sum;
  };
  GuardedFloats dx(kTokens * kIn);
  GuardedFloats dw(kOut * kIn);
  ASSERT_TRUE(GemmReference({}, {.form = GemmForm::kInputGradient,
                                 .m = kTokens,
                                 .n = kIn,
                                 .k = kOut,
                                 .a = g.data(),
                                 .a_stride = kOut,
                                 .b = w.data(),
                                 .b_stride = kIn,
                                 .c = dx.data(),
                                 .c_stride = kIn})
                  .ok());
  ASSERT_TRUE(WeightGradientReference({}, {.m = kOut,
                                           .n = kIn,
                                           .k = kTokens,
                                           .output_gradient = g.data(),
                                           .output_stride = kOut,
                                           .input = x.data(),
                                           .input_stride = kIn,
                                           .gradient = {.sum = dw.data()}})
                  .ok());
  const float before = loss();
  for (int64_t i = 0; i < x.size(); ++i) {
    x[i] += 1;
    EXPECT_EQ(loss() - before, dx[i]);
    x[i] -= 1;
  }
  for (int64_t i = 0; i < w.size(); ++i) {
    w[i] += 1;
    EXPECT_EQ(loss() - before, dw[i]);
    w[i] -= 1;
  }
}

TEST(Gemm, ImpossibleSizesAreRefused) {
  KernelLane lane(1);
  std::mt19937 random(7);
  for (int broken = 0; broken < 8; ++broken) {
    Product product(random, GemmForm::kForward, 4, 4, 4);
    Gemm& gemm = product.gemm;
    if (broken == 0) gemm.m = -1;
    if (broken == 1) gemm.n = -1;
    if (broken == 2) gemm.k = int64_t{1} << 31;
    if (broken == 3) gemm.a_stride = 3;
    if (broken == 4) gemm.b_stride = 3;
    if (broken == 5) gemm.c_stride = 3;
    if (broken == 6) gemm.c_stride = int64_t{1} << 31;
    if (broken == 7) {  // sizes that fit by themselves, and a result of more than 2^31 elements
      gemm.m = 8193;
      gemm.n = gemm.c_stride = 262144;
    }
    EXPECT_TRUE(absl::IsInvalidArgument(GemmHost(lane.context(), gemm))) << broken;
  }
}

// ---- Gradients of parameters ----

uint16_t NearestBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
float Widened(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

// Calls `kernel` with each way of storing, and expects what GradientOut says of the plain sums.
template <typename Kernel>
void ExpectStoredEveryWay(const GuardedFloats& sums, const Kernel& kernel) {
  std::vector<uint16_t> leaving(static_cast<size_t>(sums.size()) + 1, 0xABCD);
  kernel(GradientOut{.bf16 = leaving.data()});
  for (int64_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(leaving[static_cast<size_t>(i)], NearestBf16(sums[i])) << i;
  }
  EXPECT_EQ(leaving.back(), 0xABCD);
  for (const bool add : {false, true}) {
    for (const bool rounded : {false, true}) {
      GuardedFloats stored(sums.size(), 0.3f);
      kernel(GradientOut{.sum = stored.data(), .add = add, .rounded = rounded});
      for (int64_t i = 0; i < sums.size(); ++i) {
        const float value = rounded ? Widened(NearestBf16(sums[i])) : sums[i];
        ASSERT_EQ(stored[i], add ? 0.3f + value : value) << i << " " << add << " " << rounded;
      }
      EXPECT_TRUE(stored.guards_hold());
    }
  }
}

TEST(WeightGradient, IsTheProductStoredAsAsked) {
  std::mt19937 random(8);
  struct Sizes {
    int64_t m, n, k;
  };
  for (const Sizes sizes : {Sizes{0, 5, 3}, {1, 1, 1}, {5, 3, 0}, {70, 129, 33}, {540, 700, 330}}) {
    Product product(random, GemmForm::kWeightGradient, sizes.m, sizes.n, sizes.k, 0);
    KernelLane lane(2);
    ExpectLikeReference(product, lane);
    for (const int workers : {5, 3, 2, 1}) {
      KernelLane several(workers);
      ExpectStoredEveryWay(product.c, [&](const GradientOut& out) {
        const WeightGradient args = {.m = sizes.m,
                                     .n = sizes.n,
                                     .k = sizes.k,
                                     .output_gradient = product.a.data(),
                                     .output_stride = sizes.m,
                                     .input = product.b.data(),
                                     .input_stride = sizes.n,
                                     .gradient = out};
        ASSERT_TRUE(WeightGradientHost(several.context(), args).ok());
      });
    }
  }
}

TEST(WeightGradient, ReferenceStoresAsAsked) {
  std::mt19937 random(9);
  const GuardedFloats a = RandomFloats(random, 20 * 7);
  const GuardedFloats b = RandomFloats(random, 20 * 9);
  const auto run = [&](const GradientOut& out) {
    ASSERT_TRUE(WeightGradientReference({}, {.m = 7,
                                             .n = 9,
                                             .k = 20,
                                             .output_gradient = a.data(),
                                             .output_stride = 7,
                                             .input = b.data(),
                                             .input_stride = 9,
                                             .gradient = out})
                    .ok());
  };
  GuardedFloats sums(7 * 9);
  run(GradientOut{.sum = sums.data()});
  ExpectStoredEveryWay(sums, run);
}

TEST(WeightGradient, TiesAndTheirNeighboursAreRoundedToEven) {
  const auto bits = [](uint32_t value) { return std::bit_cast<float>(value); };
  const float one = 1.0f;
  const std::vector<float> values = {bits(0x3F808000), bits(0x3F818000), bits(0x3F808001),
                                     bits(0x3F817FFF), bits(0xBF808000), bits(0xBF818000),
                                     bits(0x3F7F8000), bits(0x7F7F8000), 0.0f};
  const std::vector<uint16_t> expected = {0x3F80, 0x3F82, 0x3F81, 0x3F81, 0xBF80,
                                          0xBF82, 0x3F80, 0x7F80, 0x0000};
  KernelLane lane(2);
  for (const auto kernel : {&WeightGradientReference, &WeightGradientHost}) {
    std::vector<uint16_t> leaving(values.size());
    ASSERT_TRUE(kernel(lane.context(), {.m = 1,
                                        .n = static_cast<int64_t>(values.size()),
                                        .k = 1,
                                        .output_gradient = &one,
                                        .output_stride = 1,
                                        .input = values.data(),
                                        .input_stride = static_cast<int64_t>(values.size()),
                                        .gradient = {.bf16 = leaving.data()}})
                    .ok());
    EXPECT_EQ(leaving, expected);
  }
}

TEST(BiasGradient, HasTheOrderOfSumsTheHeaderStates) {
  std::mt19937 random(10);
  for (const int64_t tokens : {0, 1, 63, 64, 65, 300}) {
    for (const int64_t width : {0, 1, 7, 64, 65, 200}) {
      const GuardedFloats gradient = RandomFloats(random, tokens * width);
      GuardedFloats expected(width);
      GuardedFloats exact(width);
      for (int64_t j = 0; j < width; ++j) {
        double total = 0;
        for (int64_t first = 0; first < tokens; first += 64) {
          float sum = 0;
          for (int64_t t = first; t < std::min(first + 64, tokens); ++t) {
            sum += gradient[t * width + j];
          }
          total += double{sum};
        }
        expected[j] = static_cast<float>(total);
      }
      ASSERT_TRUE(BiasGradientReference({}, {.tokens = tokens,
                                             .width = width,
                                             .output_gradient = gradient.data(),
                                             .gradient = {.sum = exact.data()}})
                      .ok());
      for (int64_t j = 0; j < width; ++j) {
        // 64 roundings at most of sums below 64, and those of `tokens` / 64 tiles add up.
        ASSERT_NEAR(expected[j], exact[j], kEpsilon * (2.0 + 0.5 * static_cast<double>(tokens)));
      }
      for (const int workers : {1, 3}) {
        KernelLane lane(workers);
        ExpectStoredEveryWay(expected, [&](const GradientOut& out) {
          ASSERT_TRUE(BiasGradientHost(lane.context(), {.tokens = tokens,
                                                        .width = width,
                                                        .output_gradient = gradient.data(),
                                                        .gradient = out})
                          .ok());
        });
      }
    }
  }
}

// ---- The cut ----

TEST(GemmTiles, AreNearlyEqualAndSharedEvenlyByTwoToEightWorkers) {
  for (const int64_t m : {512, 1024, 2048}) {
    for (const int64_t n : {384, 576, 896, 1152, 1536, 2432, 3072, 4864}) {
      const TileSizes tiles = ChooseTiles(m, n, 0, 0);
      ASSERT_LE(tiles.m, kLargestTile);
      ASSERT_LE(tiles.n, kLargestTile);
      const int64_t count = tiles.CountOf(m, n);
      for (const int64_t workers : {2, 4, 8}) {
        // The time of the busiest worker against an even share of the work.
        const int64_t rounds = (count + workers - 1) / workers;
        const double share =
            static_cast<double>(m * n) / static_cast<double>(rounds * workers * tiles.m * tiles.n);
        EXPECT_GT(share, 0.9) << m << " x " << n << " in " << tiles.m << " x " << tiles.n << ", "
                              << workers << " workers";
      }
    }
  }
}

TEST(GemmTiles, AGivenTileLeavesTheOtherSideToItsOwnLength) {
  for (const int64_t n : {1, 63, 64, 65, 500, 896, 5000}) {
    const TileSizes few = ChooseTiles(1, n, 128, 0);
    const TileSizes many = ChooseTiles(100'000, n, 128, 0);
    EXPECT_EQ(few.m, 128);
    EXPECT_EQ(few.n, many.n);
    EXPECT_EQ(ChooseTiles(n, 7, 0, 32).m, ChooseTiles(n, 7000, 0, 32).m);
    EXPECT_LE(few.n, kLargestTile);
    EXPECT_GE(few.n, std::min<int64_t>(n, 64));
  }
}

}  // namespace
}  // namespace horizon
