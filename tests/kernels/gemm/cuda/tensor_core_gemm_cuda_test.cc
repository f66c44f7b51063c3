#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

constexpr GemmForm kForms[] = {GemmForm::kForward, GemmForm::kInputGradient,
                               GemmForm::kWeightGradient};

// The padding makes rows longer than they are wide; of 0 to 7 elements, so that it also decides
// whether rows are aligned. Arrays begin `offset` elements behind an aligned place.
struct Case {
  int64_t m, n, k;
  int64_t padding = 0;
  int64_t offset = 0;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.m << " x " << c.n << " x " << c.k << ", padding " << c.padding << ", offset "
             << c.offset;
}

enum class Added { kNothing, kBias, kInitial, kItself, kAll };

// A multiply whose operands are stored as the form says, with NaN in the padding.
struct Problem {
  Problem(GemmForm form, const Case& c, uint64_t seed = 1) : random(seed) {
    const bool a_transposed = form == GemmForm::kWeightGradient;
    const bool b_transposed = form == GemmForm::kForward;
    gemm = {.form = form, .m = c.m, .n = c.n, .k = c.k};
    a = Matrix(c, a_transposed ? c.k : c.m, a_transposed ? c.m : c.k, gemm.a_stride);
    b = Matrix(c, b_transposed ? c.n : c.k, b_transposed ? c.k : c.n, gemm.b_stride);
    initial = Matrix(c, c.m, c.n, gemm.c_stride);
    bias = RandomBf16(random, c.n);
  }
  std::vector<uint16_t> Matrix(const Case& c, int64_t rows, int64_t columns, int64_t& stride) {
    stride = columns + c.padding;
    std::vector<uint16_t> matrix(static_cast<size_t>(c.offset), 0x7FFF);
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<uint16_t> row = RandomBf16(random, columns);
      matrix.insert(matrix.end(), row.begin(), row.end());
      matrix.insert(matrix.end(), static_cast<size_t>(c.padding), 0x7FFF);
    }
    return matrix;
  }
  std::mt19937 random;
  Gemm gemm;
  std::vector<uint16_t> a, b, initial, bias;
};

std::vector<float> Reference(const Problem& problem, const Case& c, Added added) {
  const std::vector<float> a = Widened(problem.a), b = Widened(problem.b);
  const std::vector<float> bias = Widened(problem.bias), initial = Widened(problem.initial);
  std::vector<float> result = initial;
  Gemm gemm = problem.gemm;
  gemm.a = a.data() + c.offset;
  gemm.b = b.data() + c.offset;
  gemm.c = result.data() + c.offset;
  if (added == Added::kBias || added == Added::kAll) gemm.bias = bias.data();
  if (added >= Added::kInitial) gemm.initial = initial.data() + c.offset;
  EXPECT_TRUE(GemmReference({}, gemm).ok());
  return result;
}

// T: uint16_t for bf16 or float. What is not an element of C keeps what it was.
template <typename T>
std::vector<T> OnDevice(const Problem& problem, const Case& c, Added added, uint64_t seed) {
  DeviceLane lane(seed);
  Gemm gemm = problem.gemm;
  gemm.a = static_cast<const uint16_t*>(lane.Upload(problem.a)) + c.offset;
  gemm.b = static_cast<const uint16_t*>(lane.Upload(problem.b)) + c.offset;
  std::vector<T> before;
  if constexpr (std::is_same_v<T, float>) {
    before = Widened(problem.initial);
  } else {
    before = problem.initial;
  }
  T* result = lane.Upload(before);
  gemm.c = result + c.offset;
  if (added == Added::kBias || added == Added::kAll) gemm.bias = lane.Upload(problem.bias);
  if (added == Added::kInitial || added == Added::kAll) {
    gemm.initial = static_cast<const T*>(lane.Upload(before)) + c.offset;
  }
  if (added == Added::kItself) gemm.initial = static_cast<const T*>(result) + c.offset;
  EXPECT_EQ(TensorCoreGemmCuda(lane.context(), gemm), absl::OkStatus());
  return lane.Download(result, static_cast<int64_t>(before.size()));
}

class TensorCoreGemmTest : public testing::TestWithParam<Case> {};

// Terms are at most 1, so that the sum of k of them in fp32 is off by k roundings of at most k;
// bias and residual are two terms more. The result is rounded once.
TEST_P(TensorCoreGemmTest, MatchesTheReference) {
  const Case& c = GetParam();
  const auto terms = static_cast<double>(c.k + 2);
  for (const GemmForm form : kForms) {
    const Problem problem(form, c);
    for (const Added added :
         {Added::kNothing, Added::kBias, Added::kInitial, Added::kItself, Added::kAll}) {
      const std::vector<float> expected = Reference(problem, c, added);
      const auto is_element = [&](size_t i) {
        const int64_t at = static_cast<int64_t>(i) - c.offset;
        return at >= 0 && at % problem.gemm.c_stride < c.n;
      };
      const auto compare = [&](std::vector<float> actual, double unit) {
        std::vector<float> wanted = expected;
        for (size_t i = 0; i < actual.size(); ++i) {
          if (is_element(i)) continue;
          EXPECT_TRUE(std::isnan(actual[i])) << "overwritten behind a row: " << i;
          actual[i] = wanted[i] = 0.0f;
        }
        ExpectNear("product", actual, wanted, [&](size_t i) {
          return unit * std::fabs(wanted[i]) + terms * terms * kFp32Unit;
        });
      };
      const std::vector<uint16_t> rounded = OnDevice<uint16_t>(problem, c, added, 1);
      compare(Widened(rounded), kBf16Unit);
      if (added == Added::kAll) {
        EXPECT_EQ(OnDevice<uint16_t>(problem, c, added, 7), rounded);
      }
      compare(OnDevice<float>(problem, c, added, 3), kFp32Unit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, TensorCoreGemmTest,
                         testing::Values(Case{1, 1, 1}, Case{8, 8, 8}, Case{1, 40, 72},
                                         Case{128, 128, 32}, Case{129, 136, 104}, Case{40, 264, 64},
                                         Case{7, 5, 0}, Case{16, 24, 16, 8}, Case{33, 9, 31},
                                         Case{31, 131, 37, 3}, Case{17, 24, 40, 0, 1},
                                         Case{130, 16, 200, 8, 8}, Case{5, 3, 100, 7, 4},
                                         Case{0, 8, 8}, Case{8, 0, 8}));

// Rows in any parts, of a matrix of several tiles.
TEST(TensorCoreGemm, BitsDoNotDependOnHowRowsAndColumnsAreCut) {
  constexpr int64_t kM = 200, kN = 150, kK = 90;
  for (const GemmForm form : kForms) {
    const Case c{kM, kN, kK, 2};
    const Problem problem(form, c);
    const std::vector<float> whole = OnDevice<float>(problem, c, Added::kBias, 1);
    DeviceLane lane(5);
    const uint16_t* a = lane.Upload(problem.a);
    const uint16_t* b = lane.Upload(problem.b);
    const uint16_t* bias = lane.Upload(problem.bias);
    float* result = lane.Upload(Widened(problem.initial));
    for (int64_t row = 0, rows = 1; row < kM; row += rows, rows = rows * 3 + 1) {
      for (const auto& [column, columns] : {std::pair<int64_t, int64_t>{0, 13}, {13, kN - 13}}) {
        Gemm gemm = problem.gemm;
        gemm.m = std::min(rows, kM - row);
        gemm.n = columns;
        gemm.a = a + (form == GemmForm::kWeightGradient ? row : row * gemm.a_stride);
        gemm.b = b + (form == GemmForm::kForward ? column * gemm.b_stride : column);
        gemm.bias = bias + column;
        gemm.c = result + row * gemm.c_stride + column;
        EXPECT_EQ(TensorCoreGemmCuda(lane.context(), gemm), absl::OkStatus());
      }
    }
    const std::vector<float> parts = lane.Download(result, static_cast<int64_t>(whole.size()));
    for (size_t i = 0; i < whole.size(); ++i) {
      if (static_cast<int64_t>(i) % (kN + 2) >= kN) continue;
      ASSERT_EQ(parts[i], whole[i]) << i;
    }
  }
}

// The weight gradient of a chunk of tokens after another.
TEST(TensorCoreGemm, PiecesOfTheSumHaveTheBitsOfTheWhole) {
  constexpr int64_t kM = 24, kN = 40, kK = 150;
  const Case c{kM, kN, kK};
  const Problem problem(GemmForm::kWeightGradient, c);
  const std::vector<float> whole = OnDevice<float>(problem, c, Added::kInitial, 1);
  for (const int64_t piece : {16, 48, 112}) {
    DeviceLane lane(piece);
    const uint16_t* a = lane.Upload(problem.a);
    const uint16_t* b = lane.Upload(problem.b);
    float* result = lane.Upload(Widened(problem.initial));
    for (int64_t begin = 0; begin < kK; begin += piece) {
      Gemm gemm = problem.gemm;
      gemm.k = std::min(piece, kK - begin);
      gemm.k_tile = 16;
      gemm.a = a + begin * gemm.a_stride;
      gemm.b = b + begin * gemm.b_stride;
      gemm.c = result;
      gemm.initial = static_cast<const float*>(result);
      EXPECT_EQ(TensorCoreGemmCuda(lane.context(), gemm), absl::OkStatus());
    }
    EXPECT_EQ(lane.Download(result, kM * kN), whole) << piece;
  }
}

// Aligned and not, the sums are the same.
TEST(TensorCoreGemm, BitsDoNotDependOnAlignment) {
  const Case aligned{50, 64, 72, 0, 0}, off{50, 64, 72, 0, 1};
  for (const GemmForm form : kForms) {
    const std::vector<float> a =
        OnDevice<float>(Problem(form, aligned), aligned, Added::kNothing, 1);
    const std::vector<float> b = OnDevice<float>(Problem(form, off), off, Added::kNothing, 1);
    EXPECT_EQ(std::vector<float>(b.begin() + 1, b.end()), a);
  }
}

TEST(TensorCoreGemm, HasNoBankConflicts) {
  for (const GemmForm form : kForms) {
    for (const Case& c : {Case{256, 128, 160}, Case{100, 90, 70, 3}}) {
      const Problem problem(form, c);
      fake_cuda::CountBankConflicts(true);
      OnDevice<uint16_t>(problem, c, Added::kAll, 1);
      const fake_cuda::BankConflicts found = fake_cuda::TakeBankConflicts();
      fake_cuda::CountBankConflicts(false);
      EXPECT_EQ(found.conflicts, 0U) << c << ": " << found.first;
      // Of each step: four loads of A and two of B for each half of it by each warp that has a part
      // of 64 x 32 of C, and four stores of both by all eight warps of a tile.
      const int64_t tiles = (c.m + 127) / 128 * ((c.n + 127) / 128);
      const int64_t warps = (c.m + 63) / 64 * ((c.n + 31) / 32);
      EXPECT_EQ(found.accesses,
                static_cast<uint64_t>((c.k + 31) / 32 * (warps * 12 + tiles * 8 * 4)));
    }
  }
}

// Offsets that 32 bits do not hold: two rows 2^31 elements apart. They are of one allocation of
// which nothing else is touched.
TEST(TensorCoreGemm, OffsetsHave64Bits) {
  constexpr int64_t kStride = int64_t{1} << 31;
  DeviceLane lane(fake_cuda::Options{.devices = {{.memory_bytes = uint64_t{16} << 30}}});
  uint16_t* a = lane.Allocate<uint16_t>(kStride + 8);
  const std::vector<uint16_t> ones(8, 0x3F80), twos(8, 0x4000);
  fake_cuda::WriteDevice(a, ones.data(), 16);
  fake_cuda::WriteDevice(a + kStride, twos.data(), 16);
  float* c = lane.Allocate<float>(2);
  EXPECT_EQ(TensorCoreGemmCuda(lane.context(), {.m = 2,
                                                .n = 1,
                                                .k = 8,
                                                .a = static_cast<const uint16_t*>(a),
                                                .a_stride = kStride,
                                                .b = static_cast<const uint16_t*>(a),
                                                .b_stride = 8,
                                                .c = c,
                                                .c_stride = 1}),
            absl::OkStatus());
  EXPECT_EQ(lane.Download(c, 2), (std::vector<float>{8, 16}));
}

TEST(TensorCoreGemm, RefusesWhatItCannotMultiply) {
  DeviceLane lane;
  const Problem problem(GemmForm::kForward, {8, 8, 8});
  Gemm good = problem.gemm;
  good.a = static_cast<const uint16_t*>(lane.Upload(problem.a));
  good.b = static_cast<const uint16_t*>(lane.Upload(problem.b));
  float* c = lane.Allocate<float>(64);
  good.c = c;
  EXPECT_EQ(TensorCoreGemmCuda(lane.context(), good), absl::OkStatus());
  const auto refuses = [&](auto change) {
    Gemm bad = good;
    change(bad);
    return TensorCoreGemmCuda(lane.context(), bad).code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.m = -1; }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.a = ConstValues(); }));
  EXPECT_TRUE(refuses([&](Gemm& gemm) { gemm.a = static_cast<const float*>(c); }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.c = Values(); }));
  EXPECT_TRUE(refuses([&](Gemm& gemm) { gemm.bias = static_cast<const float*>(c); }));
  EXPECT_TRUE(refuses([&](Gemm& gemm) { gemm.initial = gemm.a; }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.a_stride = 7; }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.b_stride = 7; }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.c_stride = 7; }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.k_tile = 8; }));
  EXPECT_TRUE(refuses([](Gemm& gemm) { gemm.m = gemm.n = gemm.c_stride = int64_t{1} << 31; }));
  KernelContext nowhere = lane.context();
  nowhere.stream = nullptr;
  EXPECT_EQ(TensorCoreGemmCuda(nowhere, good).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorCoreGemm, AnOlderDeviceIsUnavailable) {
  DeviceLane lane(fake_cuda::Options{.devices = {{.major = 7, .minor = 5}}});
  const uint16_t* ones = lane.Upload(std::vector<uint16_t>(64, 0x3F80));
  const absl::Status status = TensorCoreGemmCuda(lane.context(), {.m = 8,
                                                                  .n = 8,
                                                                  .k = 8,
                                                                  .a = ones,
                                                                  .a_stride = 8,
                                                                  .b = ones,
                                                                  .b_stride = 8,
                                                                  .c = lane.Allocate<float>(64),
                                                                  .c_stride = 8});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("below compute capability 8.0"));
  EXPECT_EQ(fake_cuda::WorkCount(), 0U);
}

}  // namespace
}  // namespace horizon
