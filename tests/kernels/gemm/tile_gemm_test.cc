#include "kernels/gemm/tile_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

struct Case {
  Transposed transposed;
  bool accumulate;
  int64_t m, n, k;
};

// Rows around blocks of 6, 8 and 12, columns of one to five times four vectors, also of sums with
// no and one term.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Transposed transposed : {Transposed::kNo, Transposed::kYes}) {
    for (const int64_t n : {16, 32, 48, 64, 80, 112, 272}) {
      for (const int64_t m : {1, 2, 5, 6, 7, 11, 12, 13, 16, 31, 64}) {
        for (const int64_t k : {0, 1, 3, 64, 129}) {
          cases.push_back({transposed, (m + k) % 2 == 0, m, n, k});
        }
      }
    }
  }
  return cases;
}

// Operands with rows that are longer than they have to be.
struct Operands {
  GuardedFloats a, b, c;
  TileGemm gemm;

  Operands(std::mt19937& random, const Case& the_case)
      : a(RandomFloats(random, (the_case.m + 3) * (the_case.k + 3))),
        b(RandomFloats(random, the_case.k * (the_case.n + 16))),
        c(RandomFloats(random, the_case.m * (the_case.n + 5))) {
    const bool transposed = the_case.transposed == Transposed::kYes;
    gemm = {.a_transposed = the_case.transposed,
            .m = the_case.m,
            .n = the_case.n,
            .k = the_case.k,
            .a = a.data(),
            .a_stride = (transposed ? the_case.m : the_case.k) + 3,
            .b = b.data(),
            .b_stride = the_case.n + 16,
            .accumulate = the_case.accumulate,
            .c = c.data(),
            .c_stride = the_case.n + 5};
  }
  double Term(int64_t i, int64_t j, int64_t p) const {
    const bool transposed = gemm.a_transposed == Transposed::kYes;
    return double{gemm.a[transposed ? p * gemm.a_stride + i : i * gemm.a_stride + p]} *
           double{gemm.b[p * gemm.b_stride + j]};
  }
};

TEST(TileGemm, IsTheProductOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    std::mt19937 random(1);
    for (const Case& the_case : Cases()) {
      Operands operands(random, the_case);
      const GuardedFloats before = operands.c;
      ComputeTileGemm(operands.gemm);
      for (int64_t i = 0; i < the_case.m; ++i) {
        for (int64_t j = 0; j < operands.gemm.c_stride; ++j) {
          const int64_t at = i * operands.gemm.c_stride + j;
          if (j >= the_case.n) {
            ASSERT_EQ(operands.c[at], before[at]) << "written past the columns";
            continue;
          }
          double sum = the_case.accumulate ? double{before[at]} : 0.0;
          double size = std::abs(sum);
          for (int64_t p = 0; p < the_case.k; ++p) {
            sum += operands.Term(i, j, p);
            size += std::abs(operands.Term(i, j, p));
          }
          // Two roundings a term at most, and the last addition.
          ASSERT_NEAR(operands.c[at], sum, kEpsilon * size * static_cast<double>(the_case.k + 1))
              << target << " " << the_case.m << " x " << the_case.n << " x " << the_case.k;
        }
      }
      ASSERT_TRUE(operands.c.guards_hold());
    }
  });
}

// What lies beside an entry, and how A is stored, changes nothing.
TEST(TileGemm, AnEntryHasTheSameBitsInAnyMultiply) {
  std::mt19937 random(2);
  constexpr int64_t kRows = 40;
  constexpr int64_t kColumns = 112;
  constexpr int64_t kTerms = 70;
  Operands whole(random, {Transposed::kNo, false, kRows, kColumns, kTerms});
  ComputeTileGemm(whole.gemm);
  std::vector<float> transposed(kTerms * kRows);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t p = 0; p < kTerms; ++p) {
      transposed[static_cast<size_t>(p * kRows + i)] = whole.gemm.a[i * whole.gemm.a_stride + p];
    }
  }
  for (int64_t row = 0; row < kRows; row += 5) {
    for (int64_t column = 0; column < kColumns; column += kLaneGroup) {
      for (const int64_t n : {16, 32, 48}) {
        if (column + n > kColumns) continue;
        std::vector<float> part(static_cast<size_t>(3 * n));
        ComputeTileGemm({.a_transposed = Transposed::kYes,
                         .m = 3,
                         .n = n,
                         .k = kTerms,
                         .a = transposed.data() + row,
                         .a_stride = kRows,
                         .b = whole.gemm.b + column,
                         .b_stride = whole.gemm.b_stride,
                         .c = part.data(),
                         .c_stride = n});
        for (int64_t i = 0; i < 3; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            ASSERT_EQ(part[static_cast<size_t>(i * n + j)],
                      whole.c[(row + i) * whole.gemm.c_stride + column + j]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace horizon
