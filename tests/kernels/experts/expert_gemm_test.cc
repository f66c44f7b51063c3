#include "kernels/experts/expert_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/experts/shared_rows.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Form {
  Transposed b_transposed = Transposed::kNo;
  bool gathered = false;
  bool biased = false;
  bool scaled = false;
};
constexpr Form kForms[] = {{},
                           {.b_transposed = Transposed::kYes},
                           {.gathered = true},
                           {.b_transposed = Transposed::kYes, .gathered = true, .biased = true},
                           {.biased = true, .scaled = true},
                           {.b_transposed = Transposed::kYes, .biased = true, .scaled = true}};

// A grouped multiply with its arrays. The rows of its experts begin at `first` of most_rows, and
// rows are longer than they have to be.
struct Product {
  ExpertGemm args;
  std::vector<int32_t> begins;
  GuardedFloats a, b, c, bias, scales;
  std::vector<int32_t> a_rows;
  std::vector<int32_t> pairs;

  Product(std::mt19937& random, const Form& form, std::vector<int32_t> the_begins, int64_t n,
          int64_t k, int64_t gap = 0)
      : begins(std::move(the_begins)),
        a(RandomFloats(random, (Rows() + 5) * (k + gap))),
        b(RandomFloats(random, Experts() * MatrixSize(form, n, k, gap))),
        c(Rows() * (n + gap), kNan),
        bias(RandomFloats(random, Experts() * (n + 2))),
        scales(RandomFloats(random, Rows())),
        a_rows(RandomIndices(random, Rows(), Rows() + 5)),
        pairs(RandomOrder(random, Rows())) {
    const bool transposed = form.b_transposed == Transposed::kYes;
    args = {.experts = Experts(),
            .begins = begins.data(),
            .most_rows = Rows(),
            .n = n,
            .k = k,
            .a = a.data(),
            .a_stride = k + gap,
            .a_rows = form.gathered ? a_rows.data() : nullptr,
            .b = b.data(),
            .b_transposed = form.b_transposed,
            .b_stride = (transposed ? k : n) + gap,
            .b_expert_stride = MatrixSize(form, n, k, gap),
            .c = c.data(),
            .c_stride = n + gap};
    if (form.biased) {
      args.bias = bias.data();
      args.bias_expert_stride = n + 2;
    }
    if (form.scaled) {
      args.row_scales = scales.data();
      args.scale_pairs = pairs.data();
    }
  }
  Product(const Product&) = delete;

  int64_t Experts() const { return static_cast<int64_t>(begins.size()) - 1; }
  // Three rows past the last expert's.
  int64_t Rows() const { return begins.back() + 3; }
  static int64_t MatrixSize(const Form& form, int64_t n, int64_t k, int64_t gap) {
    return form.b_transposed == Transposed::kYes ? n * (k + gap) + 3 : k * (n + gap) + 3;
  }
};

std::vector<float> Magnitudes(const GuardedFloats& values) {
  std::vector<float> magnitudes;
  for (const float value : values.span()) magnitudes.push_back(std::fabs(value));
  return magnitudes;
}

// k terms of random sign carry about sqrt(k) roundings of half a unit of the running sum, which is
// at most the sum of magnitudes; 4 is for the few last ones and for luck.
void ExpectLikeReference(const Product& product, KernelLane& lane, const std::string& what) {
  const ExpertGemm& args = product.args;
  const auto entries = static_cast<size_t>(product.c.size());
  std::vector<float> expected(entries, kNan);
  std::vector<float> bound(entries, kNan);
  ExpertGemm exact = args;
  exact.c = expected.data();
  ASSERT_TRUE(ExpertGemmReference({}, exact).ok());
  const std::vector<float> a = Magnitudes(product.a);
  const std::vector<float> b = Magnitudes(product.b);
  ExpertGemm magnitude = args;
  magnitude.a = a.data();
  magnitude.b = b.data();
  magnitude.c = bound.data();
  magnitude.bias = nullptr;
  ASSERT_TRUE(ExpertGemmReference({}, magnitude).ok());
  const absl::Status status = ExpertGemmHost(lane.context(), args);
  ASSERT_TRUE(status.ok()) << status;
  const double roundings = 2 * (4 + std::sqrt(static_cast<double>(args.k)));
  for (int64_t row = 0; row < args.most_rows; ++row) {
    const bool computed = row >= product.begins.front() && row < product.begins.back();
    for (int64_t j = 0; j < args.c_stride; ++j) {
      const auto at = static_cast<size_t>(row * args.c_stride + j);
      if (computed && j < args.n) {
        ASSERT_NEAR(args.c[at], expected[at], kFp32Unit * roundings * (double{bound[at]} + 2))
            << what << ": row " << row << ", column " << j << " of " << args.n << ", k " << args.k;
      } else {
        ASSERT_TRUE(std::isnan(args.c[at])) << what << ": row " << row << " was written at " << j;
      }
    }
  }
  ASSERT_TRUE(product.c.guards_hold());
  ASSERT_TRUE(lane.guard_holds());
}

TEST(ExpertGemm, EqualsTheReferenceAtSmallAndOddSizesOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    std::mt19937 random(1);
    KernelLane lane(2);
    for (const Form& form : kForms) {
      for (const int64_t rows : {0, 1, 13, 70}) {
        for (const int64_t n : {0, 1, 5, 16, 67}) {
          for (const int64_t k : {0, 1, 7, 40}) {
            Product product(random, form, ShareRows(random, 5, rows, /*first=*/rows % 4), n, k,
                            (n + k) % 3);
            ExpectLikeReference(product, lane, target);
          }
        }
      }
    }
  });
}

// More rows, columns and terms than a block has.
TEST(ExpertGemm, EqualsTheReferenceWhereBlocksAreCut) {
  std::mt19937 random(2);
  KernelLane lane(3);
  for (const Form& form : kForms) {
    Product many(random, form, ShareRows(random, 3, 700), 530, 33, 1);
    ExpectLikeReference(many, lane, "many rows and columns");
    for (const int64_t rows : {255, 256, 264, 265, 511, 528, 529}) {
      Product one(random, form, GiveRowsTo(1, 3, rows), 20, 30);
      ExpectLikeReference(one, lane, "rows around those of blocks");
    }
    Product deep(random, form, ShareRows(random, 4, 40, 2), 37, 1000, 3);
    ExpectLikeReference(deep, lane, "many terms");
  }
}

TEST(ExpertGemm, EqualsTheReferenceForOneExpertOneRowAndAllRowsOnOne) {
  std::mt19937 random(3);
  KernelLane lane(2);
  for (const Form& form : kForms) {
    Product one(random, form, {0, 1}, 96, 300);
    ExpectLikeReference(one, lane, "one row");
    Product all(random, form, GiveRowsTo(2, 6, 300), 40, 65);
    ExpectLikeReference(all, lane, "all rows on one expert");
    Product none(random, form, GiveRowsTo(0, 6, 0), 40, 65);
    ExpectLikeReference(none, lane, "no rows");
  }
}

// Small whole numbers are summed without rounding. Rows 0 and 1 belong to expert 0 and row 2 to
// expert 2, whose matrices are [2, 2].
TEST(ExpertGemm, MultipliesByHand) {
  const std::vector<int32_t> begins = {0, 2, 2, 3};
  const std::vector<int32_t> tokens = {1, 0, 1};
  const std::vector<float> x = {1, 2, 3, 4};
  const std::vector<float> w = {1, 0, 5, 1, 9, 9, 9, 9, 2, 3, 0, 1};
  const std::vector<float> bias = {10, 20, 0, 0, 100, 200};
  const std::vector<float> scales = {2, 3, 4};
  const std::vector<int32_t> pairs = {2, 0, 1};
  ExpertGemm args = {.experts = 3,
                     .begins = begins.data(),
                     .most_rows = 3,
                     .n = 2,
                     .k = 2,
                     .a = x.data(),
                     .a_stride = 2,
                     .a_rows = tokens.data(),
                     .b = w.data(),
                     .b_stride = 2,
                     .b_expert_stride = 4,
                     .c_stride = 2,
                     .bias = bias.data(),
                     .bias_expert_stride = 2};
  for (const auto body : {&ExpertGemmReference, &ExpertGemmHost}) {
    KernelLane lane(1);
    std::vector<float> c(6);
    args.c = c.data();
    const auto expect = [&](const std::vector<float>& expected) {
      ASSERT_TRUE(body(lane.context(), args).ok());
      EXPECT_EQ(c, expected);
    };
    args.b_transposed = Transposed::kNo;
    args.row_scales = nullptr;
    args.scale_pairs = nullptr;
    expect({23 + 10, 4 + 20, 11 + 10, 2 + 20, 6 + 100, 13 + 200});
    args.b_transposed = Transposed::kYes;
    expect({3 + 10, 19 + 20, 1 + 10, 7 + 20, 18 + 100, 4 + 200});
    args.row_scales = scales.data();
    args.scale_pairs = pairs.data();
    expect({3 + 40, 19 + 80, 1 + 20, 7 + 40, 18 + 300, 4 + 600});
  }
}

// Products of bf16 numbers are exact in fp32, so a fused multiply-add changes nothing.
TEST(ExpertGemm, HasTheOrderOfSumsTheHeaderStates) {
  std::mt19937 random(6);
  for (const int64_t k : {200, 256, 257, 1000}) {
    for (const Form& form : {Form{}, Form{.b_transposed = Transposed::kYes}}) {
      Product product(random, form, {0, 3, 20}, 21, k);
      for (GuardedFloats* values : {&product.a, &product.b}) {
        for (float& value : values->span()) value = Widened(Narrowed(value));
      }
      const ExpertGemm& args = product.args;
      ForEachTarget([&](const char* target) {
        KernelLane lane(1);
        ASSERT_TRUE(ExpertGemmHost(lane.context(), args).ok());
        for (int64_t row = 0; row < 20; ++row) {
          const ConstValues b = args.b.From(row < 3 ? 0 : args.b_expert_stride);
          for (int64_t j = 0; j < args.n; ++j) {
            float total = 0;
            for (int64_t tile = 0; tile < k; tile += 256) {
              float sum = 0;
              for (int64_t p = tile; p < std::min(k, tile + 256); ++p) {
                const bool transposed = args.b_transposed == Transposed::kYes;
                sum += args.a[row * k + p] * b[transposed ? j * k + p : p * args.n + j];
              }
              total += sum;
            }
            ASSERT_EQ(args.c[row * args.n + j], total) << target << ", k " << k;
          }
        }
      });
    }
  }
}

TEST(ExpertGemm, BitsDoNotDependOnWorkersOnTheRangeOfExpertsOrOnTheRowsBesideARow) {
  std::mt19937 random(4);
  for (const Form& form : kForms) {
    Product whole(random, form, ShareRows(random, 7, 400), 150, 530, 1);
    KernelLane one(1);
    ASSERT_TRUE(ExpertGemmHost(one.context(), whole.args).ok());
    const auto expect_same = [&](const GuardedFloats& c, const char* what) {
      EXPECT_TRUE(SameBits(c, whole.c)) << what;
    };
    for (const int workers : {2, 3, 5}) {
      KernelLane lane(workers);
      GuardedFloats c(whole.c.size(), kNan);
      ExpertGemm args = whole.args;
      args.c = c.data();
      ASSERT_TRUE(ExpertGemmHost(lane.context(), args).ok());
      expect_same(c, "workers");
    }
    // The experts first .. first + count - 1, with rows from `begins` on.
    const auto multiply = [&](int64_t first, int64_t count, const int32_t* begins, float* c) {
      ExpertGemm args = whole.args;
      args.experts = count;
      args.begins = begins;
      args.b = args.b.From(first * args.b_expert_stride);
      args.bias = args.bias.From(first * args.bias_expert_stride);
      args.c = c;
      ASSERT_TRUE(ExpertGemmHost(one.context(), args).ok());
    };
    GuardedFloats ranges(whole.c.size(), kNan);
    multiply(0, 3, whole.begins.data(), ranges.data());
    multiply(3, 1, whole.begins.data() + 3, ranges.data());
    multiply(4, 3, whole.begins.data() + 4, ranges.data());
    expect_same(ranges, "ranges of experts");
    GuardedFloats rows(whole.c.size(), kNan);
    for (int64_t e = 0; e < 7; ++e) {
      for (int32_t row = whole.begins[static_cast<size_t>(e)];
           row < whole.begins[static_cast<size_t>(e) + 1]; ++row) {
        const int32_t alone[] = {row, row + 1};
        multiply(e, 1, alone, rows.data());
      }
    }
    expect_same(rows, "one row at a time");
  }
}

TEST(ExpertGemm, ImpossibleSizesAreRefusedWithTheirValues) {
  std::mt19937 random(5);
  KernelLane lane(1);
  const struct {
    void (*change)(Product& product);
    std::string_view says;
  } cases[] = {
      {[](Product& p) { p.args.experts = -1; }, "-1 experts"},
      {[](Product& p) { p.args.n = -4; }, "of -4 columns"},
      {[](Product& p) { p.args.k = -6; }, "of -6 terms"},
      {[](Product& p) { p.args.a_stride = 5; }, "strides 5"},
      {[](Product& p) { p.args.b_stride = 3; }, ", 3,"},
      {[](Product& p) { p.args.c_stride = 3; }, ", 3 do not hold a row"},
      {[](Product& p) { p.args.b_expert_stride = 23; }, "6 x 4 with stride 4 begin 23"},
      {[](Product& p) { p.args.bias_expert_stride = 3; }, "biases of 4 begin 3"},
      {[](Product& p) { p.args.scale_pairs = nullptr; }, "no scale_pairs"},
      {[](Product& p) { p.begins[1] = 9; }, "expert 1 are 9 to 8 of at most 11"},
      {[](Product& p) { p.begins[0] = -1; }, "expert 0 are -1 to 2"},
      {[](Product& p) { p.args.most_rows = 7; }, "expert 1 are 2 to 8 of at most 7"},
  };
  for (const auto& [change, says] : cases) {
    Product product(random, {.biased = true, .scaled = true}, {0, 2, 8}, 4, 6);
    change(product);
    const absl::Status status = ExpertGemmHost(lane.context(), product.args);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << says;
    EXPECT_NE(std::string(status.message()).find(says), std::string::npos)
        << says << " is not in: " << status;
  }
}

}  // namespace
}  // namespace horizon
