#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/experts/expert_gemm.h"
#include "tests/kernels/experts/cuda/routed_tokens.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// Padding and elements that nothing may read or write: NaN.
constexpr uint16_t kPadding = 0x7FFF;
// Rows that belong to experts before and behind those of a call.
constexpr int32_t kRowsBefore = 5;
constexpr int32_t kRowsBehind = 3;

// Rows of experts, and the sizes of a matrix of each. Padding makes rows longer than they are wide.
struct Case {
  std::vector<int32_t> rows;
  int64_t n;
  int64_t k;
  int64_t padding = 0;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << "rows";
  for (const int32_t rows : c.rows) out << " " << rows;
  return out << ", " << c.n << " x " << c.k << ", padding " << c.padding;
}

// A matrix with a row stride that is a multiple of 8.
struct Matrix {
  int64_t stride = 0;
  std::vector<uint16_t> values;
};
Matrix RandomMatrix(std::mt19937& random, int64_t rows, int64_t columns, int64_t padding) {
  Matrix matrix = {.stride = (columns + 7) / 8 * 8 + padding};
  for (int64_t i = 0; i < rows; ++i) {
    const std::vector<uint16_t> row = RandomBf16(random, columns);
    matrix.values.insert(matrix.values.end(), row.begin(), row.end());
    matrix.values.insert(matrix.values.end(), static_cast<size_t>(matrix.stride - columns),
                         kPadding);
  }
  return matrix;
}

enum class Bias { kNone, kPlain, kScaled };

struct Problem {
  Problem(const Case& c, Transposed b_transposed_of, bool gathers_of, uint32_t seed = 1)
      : b_transposed(b_transposed_of),
        gathers(gathers_of),
        n(c.n),
        k(c.k),
        begins(BeginsOf(c.rows, kRowsBefore)),
        random(seed) {
    most_rows = begins.back() + kRowsBehind;
    const int64_t a_count = gathers ? most_rows / 2 + 1 : most_rows;
    a = RandomMatrix(random, a_count, k, c.padding);
    a_rows = RandomRows(most_rows, a_count, random);
    const bool transposed = b_transposed == Transposed::kYes;
    const auto experts = static_cast<int64_t>(c.rows.size());
    b_rows = transposed ? n : k;
    b = RandomMatrix(random, experts * (b_rows + 1), transposed ? k : n, c.padding);
    bias = RandomBf16(random, experts * bias_stride());
    row_scales = RandomFp32(random, most_rows);
    scale_pairs = RandomOrder(most_rows, random);
    c_stride = (n + 7) / 8 * 8 + c.padding;
  }
  int64_t bias_stride() const { return n + 1; }
  int64_t experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  ExpertGemm Args(Bias with) const {
    ExpertGemm args = {.experts = experts(),
                       .most_rows = most_rows,
                       .n = n,
                       .k = k,
                       .a_stride = a.stride,
                       .b_transposed = b_transposed,
                       .b_stride = b.stride,
                       .b_expert_stride = (b_rows + 1) * b.stride,
                       .c_stride = c_stride};
    if (with != Bias::kNone) args.bias_expert_stride = bias_stride();
    return args;
  }

  Transposed b_transposed;
  bool gathers;
  int64_t n, k;
  std::vector<int32_t> begins;
  std::mt19937 random;
  int64_t most_rows = 0;
  int64_t b_rows = 0;
  Matrix a, b;
  std::vector<int32_t> a_rows;
  std::vector<uint16_t> bias;
  std::vector<float> row_scales;
  std::vector<int32_t> scale_pairs;
  int64_t c_stride = 0;
};

std::vector<float> ByReference(const Problem& problem, Bias with) {
  const std::vector<float> a = Widened(problem.a.values), b = Widened(problem.b.values);
  const std::vector<float> bias = Widened(problem.bias);
  std::vector<float> c(static_cast<size_t>(problem.most_rows * problem.c_stride),
                       Widened(kPadding));
  ExpertGemm args = problem.Args(with);
  args.begins = problem.begins.data();
  args.a = a.data();
  if (problem.gathers) args.a_rows = problem.a_rows.data();
  args.b = b.data();
  args.c = c.data();
  if (with != Bias::kNone) args.bias = bias.data();
  if (with == Bias::kScaled) {
    args.row_scales = problem.row_scales.data();
    args.scale_pairs = problem.scale_pairs.data();
  }
  EXPECT_TRUE(ExpertGemmReference({}, args).ok());
  return c;
}

// In one call, or in one for each of these ranges of experts.
std::vector<uint16_t> OnDevice(const Problem& problem, Bias with,
                               const std::vector<int64_t>& borders, uint64_t seed) {
  DeviceLane lane(seed);
  const std::vector<uint16_t> before(static_cast<size_t>(problem.most_rows * problem.c_stride),
                                     kPadding);
  const int32_t* begins = lane.Upload(problem.begins);
  const uint16_t* b = lane.Upload(problem.b.values);
  const uint16_t* bias = lane.Upload(problem.bias);
  uint16_t* c = lane.Upload(before);
  ExpertGemm args = problem.Args(with);
  args.a = static_cast<const uint16_t*>(lane.Upload(problem.a.values));
  if (problem.gathers) args.a_rows = lane.Upload(problem.a_rows);
  args.c = c;
  if (with == Bias::kScaled) {
    args.row_scales = lane.Upload(problem.row_scales);
    args.scale_pairs = lane.Upload(problem.scale_pairs);
  }
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    args.experts = borders[i + 1] - borders[i];
    args.begins = begins + borders[i];
    args.b = b + borders[i] * args.b_expert_stride;
    if (with != Bias::kNone) args.bias = bias + borders[i] * args.bias_expert_stride;
    const uint64_t work = fake_cuda::WorkCount();
    EXPECT_EQ(ExpertGemmCuda(lane.context(), args), absl::OkStatus());
    lane.Download(c, 1);
    EXPECT_LE(fake_cuda::WorkCount() - work, 1U) << "a launch for all experts";
  }
  return lane.Download(c, static_cast<int64_t>(before.size()));
}

bool IsElement(const Problem& problem, size_t i) {
  const auto row = static_cast<int64_t>(i) / problem.c_stride;
  return row >= problem.begins.front() && row < problem.begins.back() &&
         static_cast<int64_t>(i) % problem.c_stride < problem.n;
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {{1}, 8, 8},
      {{0}, 8, 8},
      {{3, 0, 7}, 24, 40, 8},
      {{0, 0, 130}, 33, 32},
      {{128, 128}, 128, 64},
      {{5, 1, 0, 130, 64, 0}, 136, 104, 16},
      {{127, 129, 1}, 40, 8},
      {{300}, 8, 200},
      {{2, 9}, 7, 0},
      {std::vector<int32_t>(300, 1), 16, 24},
  };
  return cases;
}

// Terms are at most 1, so that the sum of k of them in fp32 is off by k roundings of at most k; the
// bias is a term and a rounding more. The result is rounded once.
TEST(ExpertGemmCuda, EqualsTheReferenceInAnyOrder) {
  for (const Case& c : Cases()) {
    for (const Transposed b_transposed : {Transposed::kNo, Transposed::kYes}) {
      for (const bool gathers : {false, true}) {
        const Problem problem(c, b_transposed, gathers);
        for (const Bias with : {Bias::kNone, Bias::kPlain, Bias::kScaled}) {
          std::vector<float> expected = ByReference(problem, with);
          const std::vector<uint16_t> first = OnDevice(problem, with, {0, problem.experts()}, 1);
          std::vector<float> actual = Widened(first);
          for (size_t i = 0; i < actual.size(); ++i) {
            if (IsElement(problem, i)) continue;
            ASSERT_TRUE(std::isnan(actual[i])) << "overwritten: " << i << " of " << c;
            actual[i] = expected[i] = 0.0f;
          }
          const auto terms = static_cast<double>(c.k + 2);
          ExpectNear("product", actual, expected, [&](size_t i) {
            return kBf16Unit * std::fabs(expected[i]) + terms * terms * kFp32Unit;
          });
          if (with == Bias::kScaled) {
            EXPECT_EQ(OnDevice(problem, with, {0, problem.experts()}, 7), first) << c;
          }
        }
      }
    }
  }
}

TEST(ExpertGemmCuda, RangesOfExpertsHaveTheBitsOfOneCall) {
  for (const Transposed b_transposed : {Transposed::kNo, Transposed::kYes}) {
    const Problem problem({{5, 1, 0, 130, 64, 0, 40}, 40, 72}, b_transposed, true);
    const std::vector<uint16_t> whole = OnDevice(problem, Bias::kScaled, {0, 7}, 1);
    EXPECT_EQ(OnDevice(problem, Bias::kScaled, {0, 1, 2, 3, 4, 5, 6, 7}, 2), whole);
    EXPECT_EQ(OnDevice(problem, Bias::kScaled, {0, 3, 7}, 3), whole);
  }
}

// The same rows with the same matrix, which one expert or several have.
TEST(ExpertGemmCuda, BitsDoNotDependOnHowManyRowsAnExpertHas) {
  const Problem whole({{200}, 40, 72}, Transposed::kYes, true);
  const std::vector<uint16_t> expected = OnDevice(whole, Bias::kNone, {0, 1}, 1);
  for (const std::vector<int32_t>& rows :
       std::vector<std::vector<int32_t>>{{1, 199}, {0, 127, 73}, {60, 60, 0, 80}}) {
    Problem parts = whole;
    parts.begins = BeginsOf(rows, kRowsBefore);
    for (size_t i = 1; i < rows.size(); ++i) {
      parts.b.values.insert(parts.b.values.end(), whole.b.values.begin(), whole.b.values.end());
    }
    EXPECT_EQ(OnDevice(parts, Bias::kNone, {0, parts.experts()}, 2), expected);
  }
}

// The numbers of begins that a thread block searches are more than it has threads.
TEST(ExpertGemmCuda, ManyExpertsAreFound) {
  std::vector<int32_t> rows(700, 0);
  for (size_t i = 0; i < rows.size(); i += 7) rows[i] = static_cast<int32_t>(i % 5);
  rows[255] = 129;
  rows[256] = 1;
  rows[699] = 2;
  const Problem problem({rows, 8, 8}, Transposed::kYes, false);
  std::vector<float> expected = ByReference(problem, Bias::kNone);
  std::vector<float> actual = Widened(OnDevice(problem, Bias::kNone, {0, 700}, 1));
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!IsElement(problem, i)) actual[i] = expected[i] = 0.0f;
  }
  ExpectNear("product", actual, expected,
             [&](size_t i) { return kBf16Unit * std::fabs(expected[i]) + 64 * kFp32Unit; });
}

// Of each tile of each expert: the warps that have a part of it load A four times and B twice for
// each half of a step; all eight store both operands in four parts.
uint64_t AccessesOfTile(int64_t rows, int64_t columns, int64_t terms) {
  const int64_t steps = (terms + 31) / 32;
  const int64_t warps =
      (std::min<int64_t>(rows, 128) + 63) / 64 * ((std::min<int64_t>(columns, 128) + 31) / 32);
  return static_cast<uint64_t>(steps * (warps * 12 + 32));
}

TEST(ExpertGemmCuda, HasNoBankConflicts) {
  for (const Transposed b_transposed : {Transposed::kNo, Transposed::kYes}) {
    for (const bool gathers : {false, true}) {
      const Case c = {{40, 0, 200, 128}, 152, 72, 8};
      const Problem problem(c, b_transposed, gathers);
      fake_cuda::CountBankConflicts(true);
      OnDevice(problem, Bias::kScaled, {0, 4}, 1);
      const fake_cuda::BankConflicts found = fake_cuda::TakeBankConflicts();
      fake_cuda::CountBankConflicts(false);
      EXPECT_EQ(found.conflicts, 0U) << found.first;
      uint64_t least = 0;
      for (const int64_t columns : {128, 24}) {
        for (const int64_t rows : {40, 128, 72, 128}) {
          least += AccessesOfTile(rows, columns, c.k);
        }
      }
      EXPECT_GE(found.accesses, least);
    }
  }
}

// Offsets that 32 bits do not hold: the matrices of two experts 2^31 elements apart, in one
// allocation of which nothing else is touched.
TEST(ExpertGemmCuda, OffsetsHave64Bits) {
  constexpr int64_t kStride = int64_t{1} << 31;
  DeviceLane lane(fake_cuda::Options{.devices = {{.memory_bytes = uint64_t{16} << 30}}});
  uint16_t* b = lane.Allocate<uint16_t>(kStride + 8);
  const std::vector<uint16_t> ones(8, 0x3F80), twos(8, 0x4000);
  fake_cuda::WriteDevice(b, ones.data(), 16);
  fake_cuda::WriteDevice(b + kStride, twos.data(), 16);
  const uint16_t* a = lane.Upload(std::vector<uint16_t>(16, 0x3F80));
  const int32_t* begins = lane.Upload(std::vector<int32_t>{0, 1, 2});
  uint16_t* c = lane.Upload(std::vector<uint16_t>(16, kPadding));
  EXPECT_EQ(ExpertGemmCuda(lane.context(), {.experts = 2,
                                            .begins = begins,
                                            .most_rows = 2,
                                            .n = 1,
                                            .k = 8,
                                            .a = a,
                                            .a_stride = 8,
                                            .b = static_cast<const uint16_t*>(b),
                                            .b_transposed = Transposed::kYes,
                                            .b_stride = 8,
                                            .b_expert_stride = kStride,
                                            .c = c,
                                            .c_stride = 8}),
            absl::OkStatus());
  EXPECT_EQ(lane.Download(c, 9)[0], 0x4100);  // 8
  EXPECT_EQ(lane.Download(c, 9)[8], 0x4180);  // 16
}

// How a gradient is stored: leaving, or a sum that is put or added to, rounded or not.
struct Storing {
  bool add = false;
  bool rounded = false;
};
constexpr Storing kStorings[] = {{false, false}, {true, false}, {false, true}, {true, true}};

template <typename T>
GradientOut OutOf(T* array, const Storing& storing) {
  GradientOut out = {.add = storing.add, .rounded = storing.rounded};
  if constexpr (sizeof(T) == 2) {
    out.bf16 = array;
  } else {
    out.sum = array;
  }
  return out;
}

// T of a number.
template <typename T>
T Of(float value) {
  if constexpr (sizeof(T) == 2) {
    return Narrowed(value);
  } else {
    return value;
  }
}

struct Gradients {
  Gradients(const std::vector<int32_t>& rows, int64_t m_of, int64_t n_of, bool gathers_of,
            uint32_t seed = 1)
      : gathers(gathers_of), m(m_of), n(n_of), begins(BeginsOf(rows, kRowsBefore)), random(seed) {
    most_rows = begins.back() + kRowsBehind;
    const int64_t count = gathers ? most_rows / 2 + 1 : most_rows;
    a = RandomMatrix(random, count, m, 8);
    b = RandomMatrix(random, count, n, 16);
    a_rows = RandomRows(most_rows, count, random);
    b_rows = RandomRows(most_rows, count, random);
  }
  int64_t experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  int64_t gradient_stride() const { return m * n + 8; }
  ExpertWeightGradient Args() const {
    return {.experts = experts(),
            .most_rows = most_rows,
            .m = m,
            .n = n,
            .a_stride = a.stride,
            .b_stride = b.stride,
            .gradient_expert_stride = gradient_stride()};
  }
  // What the gradients hold before: 3, and behind each -7.
  template <typename T>
  std::vector<T> Before() const {
    std::vector<T> before(static_cast<size_t>(experts() * gradient_stride()), Of<T>(3.0f));
    for (size_t i = 0; i < before.size(); ++i) {
      if (static_cast<int64_t>(i) % gradient_stride() >= m * n) before[i] = Of<T>(-7.0f);
    }
    return before;
  }

  bool gathers;
  int64_t m, n;
  std::vector<int32_t> begins;
  std::mt19937 random;
  int64_t most_rows = 0;
  Matrix a, b;
  std::vector<int32_t> a_rows, b_rows;
};

// The contract in a loop: the rows in ascending order, in fp32. So it adds on the fake, too, where
// a tensor core adds one product after the other.
template <typename T>
std::vector<T> InAscendingOrder(const Gradients& g, const Storing& storing) {
  std::vector<T> result = g.Before<T>();
  for (int64_t expert = 0; expert < g.experts(); ++expert) {
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        float sum = 0.0f;
        for (int32_t row = g.begins[static_cast<size_t>(expert)];
             row < g.begins[static_cast<size_t>(expert) + 1]; ++row) {
          const auto at = static_cast<size_t>(row);
          const int64_t a_row = g.gathers ? g.a_rows[at] : row;
          const int64_t b_row = g.gathers ? g.b_rows[at] : row;
          sum += Widened(g.a.values[static_cast<size_t>(a_row * g.a.stride + i)]) *
                 Widened(g.b.values[static_cast<size_t>(b_row * g.b.stride + j)]);
        }
        T& to = result[static_cast<size_t>(expert * g.gradient_stride() + i * g.n + j)];
        if constexpr (sizeof(T) == 2) {
          to = Narrowed(sum);
        } else {
          const float stored = storing.rounded ? Widened(Narrowed(sum)) : sum;
          to = storing.add ? to + stored : stored;
        }
      }
    }
  }
  return result;
}

template <typename T>
std::vector<T> OnDevice(const Gradients& g, const Storing& storing,
                        const std::vector<int64_t>& borders, uint64_t seed) {
  DeviceLane lane(seed);
  const std::vector<T> before = g.Before<T>();
  const int32_t* begins = lane.Upload(g.begins);
  T* gradient = lane.Upload(before);
  ExpertWeightGradient args = g.Args();
  args.a = static_cast<const uint16_t*>(lane.Upload(g.a.values));
  args.b = static_cast<const uint16_t*>(lane.Upload(g.b.values));
  if (g.gathers) {
    args.a_rows = lane.Upload(g.a_rows);
    args.b_rows = lane.Upload(g.b_rows);
  }
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    args.experts = borders[i + 1] - borders[i];
    args.begins = begins + borders[i];
    args.gradient = OutOf(gradient + borders[i] * g.gradient_stride(), storing);
    EXPECT_EQ(ExpertWeightGradientCuda(lane.context(), args), absl::OkStatus());
  }
  return lane.Download(gradient, static_cast<int64_t>(before.size()));
}

const std::vector<std::vector<int32_t>>& Splits() {
  static const std::vector<std::vector<int32_t>> splits = {
      {1}, {0}, {3, 0, 40}, {0, 0, 97}, {31, 32, 33, 64, 65}, {150}};
  return splits;
}

TEST(ExpertWeightGradientCuda, AddsRowsInAscendingOrder) {
  for (const std::vector<int32_t>& rows : Splits()) {
    for (const auto& [m, n] :
         std::vector<std::pair<int64_t, int64_t>>{{8, 8}, {136, 24}, {40, 264}}) {
      for (const bool gathers : {false, true}) {
        const Gradients g(rows, m, n, gathers);
        const std::vector<int64_t> all = {0, g.experts()};
        EXPECT_EQ(OnDevice<uint16_t>(g, {}, all, 1), InAscendingOrder<uint16_t>(g, {}));
        for (const Storing& storing : kStorings) {
          EXPECT_EQ(OnDevice<float>(g, storing, all, 2), InAscendingOrder<float>(g, storing))
              << m << " x " << n << ", add " << storing.add << ", rounded " << storing.rounded;
        }
      }
    }
  }
}

TEST(ExpertWeightGradientCuda, IsNearTheReference) {
  const Gradients g({31, 0, 33, 90}, 40, 24, true);
  const std::vector<float> a = Widened(g.a.values), b = Widened(g.b.values);
  std::vector<float> expected = g.Before<float>();
  ExpertWeightGradient args = g.Args();
  args.begins = g.begins.data();
  args.a = a.data();
  args.b = b.data();
  args.a_rows = g.a_rows.data();
  args.b_rows = g.b_rows.data();
  args.gradient = {.sum = expected.data()};
  ASSERT_TRUE(ExpertWeightGradientReference({}, args).ok());
  // At most 90 products of at most 1.
  ExpectNear("gradient", OnDevice<float>(g, {}, {0, 4}, 1), expected,
             [](size_t) { return 90.0 * 90.0 * kFp32Unit; });
}

TEST(ExpertWeightGradientCuda, RangesOfExpertsHaveTheBitsOfOneCall) {
  const Gradients g({5, 0, 130, 1, 64}, 24, 40, true);
  const std::vector<float> whole = OnDevice<float>(g, {.add = true}, {0, 5}, 1);
  EXPECT_EQ(OnDevice<float>(g, {.add = true}, {0, 1, 2, 3, 4, 5}, 2), whole);
  EXPECT_EQ(OnDevice<float>(g, {.add = true}, {0, 3, 5}, 3), whole);
}

TEST(ExpertWeightGradientCuda, HasNoBankConflicts) {
  const Gradients g({70, 0, 33}, 200, 136, true);
  fake_cuda::CountBankConflicts(true);
  OnDevice<float>(g, {.add = true}, {0, 3}, 1);
  const fake_cuda::BankConflicts found = fake_cuda::TakeBankConflicts();
  fake_cuda::CountBankConflicts(false);
  EXPECT_EQ(found.conflicts, 0U) << found.first;
  uint64_t accesses = 0;
  for (const int64_t rows : {128, 72}) {
    for (const int64_t columns : {128, 8}) {
      for (const int64_t terms : {70, 0, 33}) accesses += AccessesOfTile(rows, columns, terms);
    }
  }
  EXPECT_EQ(found.accesses, accesses);
}

// The gradients of biases, and how their rows are scaled.
struct Biases {
  Biases(const std::vector<int32_t>& rows, int64_t width_of, bool gathers_of, bool scales_of)
      : gathers(gathers_of),
        scales(scales_of),
        width(width_of),
        begins(BeginsOf(rows, kRowsBefore)) {
    most_rows = begins.back() + kRowsBehind;
    const int64_t count = gathers ? most_rows / 2 + 1 : most_rows;
    gradients = RandomBf16(random, count * stride());
    from = RandomRows(most_rows, count, random);
    row_scales = RandomFp32(random, most_rows);
    scale_pairs = RandomOrder(most_rows, random);
  }
  int64_t experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  int64_t stride() const { return width + width % 3; }
  int64_t gradient_stride() const { return width + 2; }
  ExpertBiasGradient Args() const {
    return {.experts = experts(),
            .most_rows = most_rows,
            .width = width,
            .output_stride = stride(),
            .gradient_expert_stride = gradient_stride()};
  }
  template <typename T>
  std::vector<T> Before() const {
    return std::vector<T>(static_cast<size_t>(experts() * gradient_stride()), Of<T>(3.0f));
  }

  bool gathers, scales;
  int64_t width;
  std::vector<int32_t> begins;
  std::mt19937 random{1};
  int64_t most_rows = 0;
  std::vector<uint16_t> gradients;
  std::vector<int32_t> from;
  std::vector<float> row_scales;
  std::vector<int32_t> scale_pairs;
};

template <typename T>
std::vector<T> OnHost(const Biases& biases, const Storing& storing,
                      decltype(&ExpertBiasGradientHost) body) {
  const std::vector<float> gradients = Widened(biases.gradients);
  std::vector<T> result = biases.Before<T>();
  ExpertBiasGradient args = biases.Args();
  args.begins = biases.begins.data();
  args.output_gradient = gradients.data();
  if (biases.gathers) args.rows = biases.from.data();
  if (biases.scales) {
    args.row_scales = biases.row_scales.data();
    args.scale_pairs = biases.scale_pairs.data();
  }
  args.gradient = OutOf(result.data(), storing);
  KernelLane lane(2);
  EXPECT_EQ(body(lane.context(), args), absl::OkStatus());
  return result;
}

// Arrays begin `offset` elements behind an aligned place.
template <typename T>
std::vector<T> OnDevice(const Biases& biases, const Storing& storing,
                        const std::vector<int64_t>& borders, int64_t offset, uint64_t seed) {
  DeviceLane lane(seed);
  const std::vector<T> before = biases.Before<T>();
  std::vector<uint16_t> shifted(static_cast<size_t>(offset), kPadding);
  shifted.insert(shifted.end(), biases.gradients.begin(), biases.gradients.end());
  const int32_t* begins = lane.Upload(biases.begins);
  T* gradient = lane.Upload(before);
  ExpertBiasGradient args = biases.Args();
  args.output_gradient = static_cast<const uint16_t*>(lane.Upload(shifted)) + offset;
  if (biases.gathers) args.rows = lane.Upload(biases.from);
  if (biases.scales) {
    args.row_scales = lane.Upload(biases.row_scales);
    args.scale_pairs = lane.Upload(biases.scale_pairs);
  }
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    args.experts = borders[i + 1] - borders[i];
    args.begins = begins + borders[i];
    args.gradient = OutOf(gradient + borders[i] * biases.gradient_stride(), storing);
    EXPECT_EQ(ExpertBiasGradientCuda(lane.context(), args), absl::OkStatus());
  }
  return lane.Download(gradient, static_cast<int64_t>(before.size()));
}

TEST(ExpertBiasGradientCuda, HasTheHostsBitsInAnyOrderAndPlace) {
  for (const std::vector<int32_t>& rows :
       std::vector<std::vector<int32_t>>{{1}, {0}, {63, 64, 65, 0, 130}, {0, 1100}}) {
    for (const int64_t width : {1, 24, 255, 264}) {
      for (const bool scales : {false, true}) {
        const Biases biases(rows, width, scales, scales);
        const std::vector<int64_t> all = {0, biases.experts()};
        EXPECT_EQ(OnDevice<uint16_t>(biases, {}, all, 0, 1),
                  OnHost<uint16_t>(biases, {}, &ExpertBiasGradientHost));
        for (const Storing& storing : kStorings) {
          EXPECT_EQ(OnDevice<float>(biases, storing, all, 1, 2),
                    OnHost<float>(biases, storing, &ExpertBiasGradientHost))
              << width << ", add " << storing.add << ", rounded " << storing.rounded;
        }
        // Sums of at most 1100 numbers of at most 1, in fp32 in tiles of 64.
        ExpectNear("bias", OnDevice<float>(biases, {}, all, 0, 3),
                   OnHost<float>(biases, {}, &ExpertBiasGradientReference),
                   [](size_t) { return 1100.0 * 66.0 * kFp32Unit; });
      }
    }
  }
}

TEST(ExpertBiasGradientCuda, RangesOfExpertsHaveTheBitsOfOneCall) {
  const Biases biases({5, 0, 130, 1, 70}, 40, true, true);
  const std::vector<float> whole = OnDevice<float>(biases, {}, {0, 5}, 0, 1);
  EXPECT_EQ(OnDevice<float>(biases, {}, {0, 1, 2, 3, 4, 5}, 0, 2), whole);
  EXPECT_EQ(OnDevice<float>(biases, {}, {0, 3, 5}, 0, 3), whole);
}

TEST(ExpertBiasGradientCuda, HasNoBankConflicts) {
  const Biases biases({600, 0, 70}, 264, false, true);
  fake_cuda::CountBankConflicts(true);
  OnDevice<float>(biases, {}, {0, 3}, 0, 1);
  const fake_cuda::BankConflicts found = fake_cuda::TakeBankConflicts();
  fake_cuda::CountBankConflicts(false);
  EXPECT_EQ(found.conflicts, 0U) << found.first;
  EXPECT_GT(found.accesses, 0U);
}

TEST(ExpertMultiplies, AnOlderDeviceIsUnavailable) {
  DeviceLane lane(fake_cuda::Options{.devices = {{.major = 7, .minor = 5}}});
  const uint16_t* ones = lane.Upload(std::vector<uint16_t>(64, 0x3F80));
  const int32_t* begins = lane.Upload(std::vector<int32_t>{0, 8});
  const absl::Status multiplied = ExpertGemmCuda(lane.context(), {.experts = 1,
                                                                  .begins = begins,
                                                                  .most_rows = 8,
                                                                  .n = 8,
                                                                  .k = 8,
                                                                  .a = ones,
                                                                  .a_stride = 8,
                                                                  .b = ones,
                                                                  .b_stride = 8,
                                                                  .c = lane.Allocate<uint16_t>(64),
                                                                  .c_stride = 8});
  const absl::Status differentiated =
      ExpertWeightGradientCuda(lane.context(), {.experts = 1,
                                                .begins = begins,
                                                .most_rows = 8,
                                                .m = 8,
                                                .n = 8,
                                                .a = ones,
                                                .a_stride = 8,
                                                .b = ones,
                                                .b_stride = 8,
                                                .gradient = {.sum = lane.Allocate<float>(64)}});
  for (const absl::Status& status : {multiplied, differentiated}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("below compute capability 8.0"));
  }
  EXPECT_EQ(fake_cuda::WorkCount(), 0U);
}

}  // namespace
}  // namespace horizon
