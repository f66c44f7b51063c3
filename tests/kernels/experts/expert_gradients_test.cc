// The gradients of the weights and biases of experts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experts/expert_gemm.h"
#include "tests/kernels/each_target.h"
#include "tests/kernels/experts/shared_rows.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

// Calls `kernel` with each way of storing, and expects what GradientOut says of the plain sums.
// What lies between the gradients of two experts (where `sums` is NaN) stays as it is.
template <typename Kernel>
void ExpectStoredEveryWay(const GuardedFloats& sums, const Kernel& kernel) {
  std::vector<uint16_t> leaving(static_cast<size_t>(sums.size()) + 1, 0xABCD);
  kernel(GradientOut{.bf16 = leaving.data()});
  for (int64_t i = 0; i < sums.size(); ++i) {
    const uint16_t expected = std::isnan(sums[i]) ? 0xABCD : Narrowed(sums[i]);
    ASSERT_EQ(leaving[static_cast<size_t>(i)], expected) << i;
  }
  EXPECT_EQ(leaving.back(), 0xABCD);
  for (const bool add : {false, true}) {
    for (const bool rounded : {false, true}) {
      GuardedFloats stored(sums.size(), 0.3f);
      kernel(GradientOut{.sum = stored.data(), .add = add, .rounded = rounded});
      for (int64_t i = 0; i < sums.size(); ++i) {
        const float value = rounded ? Widened(Narrowed(sums[i])) : sums[i];
        const float expected = std::isnan(sums[i]) ? 0.3f : add ? 0.3f + value : value;
        ASSERT_EQ(stored[i], expected) << i << " " << add << " " << rounded;
      }
      EXPECT_TRUE(stored.guards_hold());
    }
  }
}

GuardedFloats Unset(int64_t size) {
  return GuardedFloats(size, std::numeric_limits<float>::quiet_NaN());
}

struct Weights {
  ExpertWeightGradient args;
  std::vector<int32_t> begins;
  GuardedFloats a, b;
  std::vector<int32_t> a_rows;
  std::vector<int32_t> b_rows;

  // `gathered` names the operands whose rows are: "", "a", "b" or "ab".
  Weights(std::mt19937& random, std::string_view gathered, std::vector<int32_t> the_begins,
          int64_t m, int64_t n)
      : begins(std::move(the_begins)),
        a(RandomFloats(random, (Rows() + 4) * (m + 1))),
        b(RandomFloats(random, (Rows() + 4) * (n + 2))),
        a_rows(RandomIndices(random, Rows(), Rows() + 4)),
        b_rows(RandomIndices(random, Rows(), Rows() + 4)) {
    args = {.experts = Experts(),
            .begins = begins.data(),
            .most_rows = Rows(),
            .m = m,
            .n = n,
            .a = a.data(),
            .a_stride = m + 1,
            .a_rows = gathered.find('a') < gathered.size() ? a_rows.data() : nullptr,
            .b = b.data(),
            .b_stride = n + 2,
            .b_rows = gathered.find('b') < gathered.size() ? b_rows.data() : nullptr,
            .gradient_expert_stride = m * n + 5};
  }
  Weights(const Weights&) = delete;

  int64_t Experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  int64_t Rows() const { return begins.back() + 2; }
  int64_t GradientSize() const { return Experts() * args.gradient_expert_stride; }
  ExpertWeightGradient Into(const GradientOut& out) const {
    ExpertWeightGradient into = args;
    into.gradient = out;
    return into;
  }
};

// The plain sums of the host kernel, checked against the reference.
void TakeSums(const Weights& weights, KernelLane& lane, const std::string& what,
              GuardedFloats& sums) {
  const ExpertWeightGradient& args = weights.args;
  GuardedFloats expected = Unset(weights.GradientSize());
  ASSERT_TRUE(ExpertWeightGradientReference({}, weights.Into({.sum = expected.data()})).ok());
  const absl::Status status =
      ExpertWeightGradientHost(lane.context(), weights.Into({.sum = sums.data()}));
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t i = 0; i < sums.size(); ++i) {
    const int64_t expert = i / args.gradient_expert_stride;
    if (i % args.gradient_expert_stride >= args.m * args.n) {
      ASSERT_TRUE(std::isnan(sums[i])) << what << ": written between the gradients of experts";
      continue;
    }
    // Terms of at most 1 and their partial sums, as in ExpertGemm.
    const double rows = weights.begins[static_cast<size_t>(expert) + 1] -
                        weights.begins[static_cast<size_t>(expert)];
    ASSERT_NEAR(sums[i], expected[i], kFp32Unit * 2 * (4 + std::sqrt(rows)) * (rows / 2))
        << what << ": expert " << expert << ", " << args.m << " x " << args.n;
  }
  ASSERT_TRUE(sums.guards_hold());
  ASSERT_TRUE(lane.guard_holds());
}

struct Sizes {
  int64_t rows, m, n;
};

TEST(ExpertWeightGradient, EqualsTheReferenceOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    std::mt19937 random(1);
    KernelLane lane(2);
    for (const std::string_view gathered : {"", "a", "b", "ab"}) {
      for (const Sizes& sizes : {Sizes{0, 3, 4},
                                 {1, 1, 1},
                                 {30, 0, 7},
                                 {30, 7, 0},
                                 {70, 13, 67},
                                 {90, 40, 16},
                                 {600, 5, 33},
                                 {9, 511, 20},
                                 {9, 20, 511}}) {
        Weights weights(random, gathered, ShareRows(random, 4, sizes.rows, 1), sizes.m, sizes.n);
        GuardedFloats sums = Unset(weights.GradientSize());
        TakeSums(weights, lane, target, sums);
      }
    }
  });
}

TEST(ExpertWeightGradient, IsStoredAsAskedByAnyNumberOfWorkers) {
  std::mt19937 random(2);
  KernelLane lane(2);
  for (const Sizes& sizes : {Sizes{300, 270, 530}, {50, 20, 64}, {50, 7, 19}}) {
    Weights weights(random, "b", ShareRows(random, 4, sizes.rows), sizes.m, sizes.n);
    GuardedFloats sums = Unset(weights.GradientSize());
    TakeSums(weights, lane, "two workers", sums);
    for (const int workers : {1, 3, 5}) {
      KernelLane several(workers);
      ExpectStoredEveryWay(sums, [&](const GradientOut& out) {
        ASSERT_TRUE(ExpertWeightGradientHost(several.context(), weights.Into(out)).ok());
      });
    }
    GuardedFloats exact = Unset(weights.GradientSize());
    ASSERT_TRUE(ExpertWeightGradientReference({}, weights.Into({.sum = exact.data()})).ok());
    ExpectStoredEveryWay(exact, [&](const GradientOut& out) {
      ASSERT_TRUE(ExpertWeightGradientReference({}, weights.Into(out)).ok());
    });
  }
}

// Products of bf16 numbers are exact in fp32, so a fused multiply-add changes nothing.
TEST(ExpertWeightGradient, HasTheOrderOfSumsTheHeaderStates) {
  std::mt19937 random(9);
  for (const int64_t n : {16, 21}) {
    Weights weights(random, "", {2, 30, 630}, 13, n);
    for (GuardedFloats* values : {&weights.a, &weights.b}) {
      for (float& value : values->span()) value = Widened(Narrowed(value));
    }
    const ExpertWeightGradient& args = weights.args;
    ForEachTarget([&](const char* target) {
      KernelLane lane(1);
      GuardedFloats sums = Unset(weights.GradientSize());
      TakeSums(weights, lane, target, sums);
      for (int64_t i = 0; i < args.m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          float total = 0;
          for (int64_t tile = 30; tile < 630; tile += 256) {
            float sum = 0;
            for (int64_t row = tile; row < std::min<int64_t>(630, tile + 256); ++row) {
              sum += args.a[row * args.a_stride + i] * args.b[row * args.b_stride + j];
            }
            total += sum;
          }
          ASSERT_EQ(sums[args.gradient_expert_stride + i * n + j], total) << target;
        }
      }
    });
  }
}

TEST(ExpertWeightGradient, ARangeOfExpertsHasTheBitsOfAll) {
  std::mt19937 random(3);
  KernelLane lane(2);
  Weights weights(random, "a", ShareRows(random, 6, 700), 30, 50);
  GuardedFloats all = Unset(weights.GradientSize());
  TakeSums(weights, lane, "all", all);
  GuardedFloats ranges = Unset(weights.GradientSize());
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{4, 2}, {0, 1}, {1, 3}}) {
    ExpertWeightGradient args = weights.Into(
        GradientOut{.sum = ranges.data()}.From(first * weights.args.gradient_expert_stride));
    args.experts = count;
    args.begins += first;
    ASSERT_TRUE(ExpertWeightGradientHost(lane.context(), args).ok());
  }
  EXPECT_TRUE(SameBits(ranges, all));
}

TEST(ExpertWeightGradient, AnExpertWithoutRowsHasTheGradientZero) {
  std::mt19937 random(4);
  for (const auto body : {&ExpertWeightGradientReference, &ExpertWeightGradientHost}) {
    for (const int64_t n : {16, 21}) {
      Weights weights(random, "", GiveRowsTo(1, 3, 40), 8, n);
      GuardedFloats sums(weights.GradientSize(), 2.5f);
      KernelLane lane(1);
      ASSERT_TRUE(body(lane.context(), weights.Into({.sum = sums.data()})).ok());
      for (int64_t i = 0; i < 8 * n; ++i) {
        ASSERT_EQ(sums[i], 0.0f);
        ASSERT_NE(sums[weights.args.gradient_expert_stride + i], 2.5f);
        ASSERT_EQ(sums[2 * weights.args.gradient_expert_stride + i], 0.0f);
      }
    }
  }
}

// The loss sum(G Y) with Y = X W_e is linear in W, and small whole numbers make all sums exact:
// raising one weight by 1 changes the loss by exactly its gradient.
TEST(ExpertWeightGradient, IsTheDerivativeOfTheGroupedMultiply) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kIn = 3;
  constexpr int64_t kOut = 4;
  constexpr int64_t kTokens = 3;
  std::mt19937 random(5);
  const auto whole_numbers = [&](int64_t size) {
    GuardedFloats values(size);
    for (float& value : values.span()) value = static_cast<float>(random() % 9) - 4.0f;
    return values;
  };
  const std::vector<int32_t> begins = {0, 3, 3, 7};
  const std::vector<int32_t> tokens = {2, 0, 1, 1, 0, 2, 1};
  const GuardedFloats x = whole_numbers(kTokens * kIn);
  GuardedFloats w = whole_numbers(3 * kIn * kOut);
  const GuardedFloats g = whole_numbers(kRows * kOut);
  const auto loss = [&] {
    GuardedFloats y(kRows * kOut);
    EXPECT_TRUE(ExpertGemmReference({}, {.experts = 3,
                                         .begins = begins.data(),
                                         .most_rows = kRows,
                                         .n = kOut,
                                         .k = kIn,
                                         .a = x.data(),
                                         .a_stride = kIn,
                                         .a_rows = tokens.data(),
                                         .b = w.data(),
                                         .b_stride = kOut,
                                         .b_expert_stride = kIn * kOut,
                                         .c = y.data(),
                                         .c_stride = kOut})
                    .ok());
    float sum = 0;
    for (int64_t i = 0; i < y.size(); ++i) sum += y[i] * g[i];
    return sum;
  };
  const float before = loss();
  for (const auto body : {&ExpertWeightGradientReference, &ExpertWeightGradientHost}) {
    GuardedFloats dw(w.size());
    KernelLane lane(1);
    ASSERT_TRUE(body(lane.context(), {.experts = 3,
                                      .begins = begins.data(),
                                      .most_rows = kRows,
                                      .m = kIn,
                                      .n = kOut,
                                      .a = x.data(),
                                      .a_stride = kIn,
                                      .a_rows = tokens.data(),
                                      .b = g.data(),
                                      .b_stride = kOut,
                                      .gradient = {.sum = dw.data()},
                                      .gradient_expert_stride = kIn * kOut})
                    .ok());
    for (int64_t i = 0; i < w.size(); ++i) {
      w[i] += 1;
      EXPECT_EQ(loss() - before, dw[i]) << i;
      w[i] -= 1;
    }
  }
}

TEST(ExpertWeightGradient, ImpossibleSizesAreRefusedWithTheirValues) {
  std::mt19937 random(6);
  KernelLane lane(1);
  float sum[200];
  for (int broken = 0; broken < 7; ++broken) {
    Weights weights(random, "", {0, 2, 5}, 4, 6);
    ExpertWeightGradient args = weights.Into({.sum = sum});
    if (broken == 0) args.m = -11;
    if (broken == 1) args.n = -11;
    if (broken == 2) args.a_stride = -11;
    if (broken == 3) args.b_stride = -11;
    if (broken == 4) args.gradient_expert_stride = -11;
    if (broken == 5) weights.begins[1] = -11;
    if (broken == 6) args.gradient = {};
    const absl::Status status = ExpertWeightGradientHost(lane.context(), args);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << broken;
    EXPECT_EQ(status.message().find("-11") != std::string::npos, broken != 6) << status;
  }
}

// ---- Biases ----

TEST(ExpertBiasGradient, HasTheOrderOfSumsTheHeaderStates) {
  std::mt19937 random(7);
  for (const int64_t rows : {0, 1, 64, 65, 500}) {
    for (const int64_t width : {1, 7, 64, 300}) {
      for (const bool scaled : {false, true}) {
        for (const bool gathered : {false, true}) {
          const std::vector<int32_t> begins = ShareRows(random, 3, rows, 2);
          const int64_t most_rows = rows + 2;
          const int64_t stride = width + 1;
          const GuardedFloats gradient = RandomFloats(random, most_rows * stride);
          const GuardedFloats scales = RandomFloats(random, most_rows);
          const std::vector<int32_t> gather = RandomIndices(random, most_rows, most_rows);
          const std::vector<int32_t> pairs = RandomOrder(random, most_rows);
          const auto args_into = [&](const GradientOut& out) {
            return ExpertBiasGradient{.experts = 3,
                                      .begins = begins.data(),
                                      .most_rows = most_rows,
                                      .width = width,
                                      .output_gradient = gradient.data(),
                                      .output_stride = stride,
                                      .rows = gathered ? gather.data() : nullptr,
                                      .row_scales = scaled ? scales.data() : nullptr,
                                      .scale_pairs = scaled ? pairs.data() : nullptr,
                                      .gradient = out,
                                      .gradient_expert_stride = width + 4};
          };
          GuardedFloats expected = Unset(3 * (width + 4));
          for (size_t e = 0; e < 3; ++e) {
            for (int64_t j = 0; j < width; ++j) {
              double total = 0;
              for (int64_t tile = begins[e]; tile < begins[e + 1]; tile += 64) {
                float sum = 0;
                for (int64_t r = tile; r < std::min<int64_t>(tile + 64, begins[e + 1]); ++r) {
                  const auto at = static_cast<size_t>(r);
                  const int64_t row = gathered ? gather[at] : r;
                  // volatile, so that the product is rounded.
                  volatile float term = gradient[row * stride + j];
                  if (scaled) term = scales[pairs[at]] * term;
                  sum += term;
                }
                total += double{sum};
              }
              expected[static_cast<int64_t>(e) * (width + 4) + j] = static_cast<float>(total);
            }
          }
          GuardedFloats exact = Unset(expected.size());
          ASSERT_TRUE(ExpertBiasGradientReference({}, args_into({.sum = exact.data()})).ok());
          for (int64_t i = 0; i < expected.size(); ++i) {
            if (std::isnan(expected[i])) continue;
            // Up to 64 roundings of sums below 64, and those of rows / 64 tiles add up.
            ASSERT_NEAR(expected[i], exact[i], kFp32Unit * (4.0 + 2.0 * static_cast<double>(rows)));
          }
          for (const int workers : {1, 3}) {
            KernelLane lane(workers);
            ExpectStoredEveryWay(expected, [&](const GradientOut& out) {
              ASSERT_TRUE(ExpertBiasGradientHost(lane.context(), args_into(out)).ok());
            });
          }
          ForEachTarget([&](const char* target) {
            KernelLane lane(1);
            GuardedFloats sums = Unset(expected.size());
            ASSERT_TRUE(
                ExpertBiasGradientHost(lane.context(), args_into({.sum = sums.data()})).ok());
            ASSERT_TRUE(SameBits(sums, expected)) << target;
          });
        }
      }
    }
  }
}

TEST(ExpertBiasGradient, ImpossibleSizesAreRefusedWithTheirValues) {
  KernelLane lane(1);
  const std::vector<int32_t> begins = {0, 2, 5};
  const std::vector<float> gradient(40);
  float sum[20];
  for (int broken = 0; broken < 5; ++broken) {
    ExpertBiasGradient args = {.experts = 2,
                               .begins = begins.data(),
                               .most_rows = 5,
                               .width = 6,
                               .output_gradient = gradient.data(),
                               .output_stride = 6,
                               .gradient = {.sum = sum},
                               .gradient_expert_stride = 6};
    if (broken == 0) args.width = -1;
    if (broken == 1) args.output_stride = 5;
    if (broken == 2) args.gradient_expert_stride = 5;
    if (broken == 3) args.row_scales = sum;
    if (broken == 4) args.most_rows = 4;
    EXPECT_TRUE(absl::IsInvalidArgument(ExpertBiasGradientHost(lane.context(), args))) << broken;
  }
}

}  // namespace
}  // namespace horizon
