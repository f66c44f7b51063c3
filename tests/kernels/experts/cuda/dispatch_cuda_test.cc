#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/experts/dispatch.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/experts/cuda/routed_tokens.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

class DispatchCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, DispatchCudaTest, testing::Values(0, 1, 4));

struct Sorted {
  std::vector<int32_t> begins;
  std::vector<int32_t> row_pairs;
  std::vector<int32_t> row_tokens;
  std::vector<int32_t> pair_rows;
  bool operator==(const Sorted&) const = default;
};

Dispatch DispatchOf(const RoutedTokens& routed) {
  return {.tokens = routed.tokens, .experts = routed.experts, .per_token = routed.per_token};
}

Sorted ByReference(const RoutedTokens& routed) {
  const size_t rows = routed.chosen.size();
  Sorted sorted = {.begins = std::vector<int32_t>(static_cast<size_t>(routed.experts) + 1, -1),
                   .row_pairs = std::vector<int32_t>(rows, -1),
                   .row_tokens = std::vector<int32_t>(rows, -1),
                   .pair_rows = std::vector<int32_t>(rows, -1)};
  Dispatch args = DispatchOf(routed);
  args.chosen = routed.chosen.data();
  args.begins = sorted.begins.data();
  args.row_pairs = sorted.row_pairs.data();
  args.row_tokens = sorted.row_tokens.data();
  args.pair_rows = sorted.pair_rows.data();
  EXPECT_TRUE(DispatchReference({}, args).ok());
  return sorted;
}

// With exactly the workspace that it asks for, which begins as NaN.
Sorted OnCuda(const RoutedTokens& routed, int64_t offset, uint64_t seed) {
  const CudaStream stream(seed);
  const DeviceWorkspace workspace(
      stream, static_cast<int64_t>(DispatchWorkspaceBytes(routed.tokens, routed.experts)));
  const std::vector<int32_t> empty(routed.chosen.size(), -1);
  const DeviceArray<int32_t> chosen(stream, routed.chosen, offset);
  const DeviceArray<int32_t> begins(
      stream, std::vector<int32_t>(static_cast<size_t>(routed.experts) + 1, -1), offset);
  const DeviceArray<int32_t> row_pairs(stream, empty, offset);
  const DeviceArray<int32_t> row_tokens(stream, empty, offset);
  const DeviceArray<int32_t> pair_rows(stream, empty, offset);
  Dispatch args = DispatchOf(routed);
  args.chosen = chosen.data();
  args.begins = begins.data();
  args.row_pairs = row_pairs.data();
  args.row_tokens = row_tokens.data();
  args.pair_rows = pair_rows.data();
  const absl::Status status = DispatchCuda(workspace.context(), args);
  EXPECT_TRUE(status.ok()) << status;
  return {begins.Read(), row_pairs.Read(), row_tokens.Read(), pair_rows.Read()};
}

TEST_P(DispatchCudaTest, SortsAsTheReferenceInAnyOrderAndPlace) {
  struct Shape {
    int64_t tokens, experts, per_token;
  };
  std::mt19937 random(1);
  for (const Shape& shape : {Shape{0, 4, 2},
                             {1, 1, 1},
                             {1, 8, 8},
                             {3, 3, 2},
                             {31, 2, 1},
                             {32, 5, 3},
                             {33, 5, 3},
                             {127, 64, 2},
                             {128, 33, 4},
                             {129, 7, 7},
                             {300, 512, 8},
                             {1000, 60, 4},
                             {1500, 500, 1}}) {
    const RoutedTokens routed = RandomRoutes(shape.tokens, shape.experts, shape.per_token, random);
    const Sorted expected = ByReference(routed);
    for (const uint64_t seed : {1, 2}) {
      EXPECT_EQ(OnCuda(routed, offset(), seed), expected)
          << shape.tokens << " tokens, " << shape.per_token << " of " << shape.experts;
    }
  }
}

TEST_P(DispatchCudaTest, AllTokensMayChooseTheSameExperts) {
  for (const int64_t first : {0, 2, 5}) {
    const RoutedTokens routed = EqualRoutes(260, 8, 3, first);
    EXPECT_EQ(OnCuda(routed, offset(), 3), ByReference(routed)) << first;
  }
}

// The largest that a stage sorts at once.
TEST_P(DispatchCudaTest, APieceOfTokensIsSortedWhole) {
  if (offset() != 0) return;
  std::mt19937 random(2);
  const RoutedTokens routed = RandomRoutes(8192, 512, 8, random);
  EXPECT_EQ(OnCuda(routed, 0, 1), ByReference(routed));
}

TEST_P(DispatchCudaTest, TheExampleOfTheHeaderHolds) {
  const RoutedTokens routed = {
      .tokens = 3, .experts = 3, .per_token = 2, .chosen = {0, 2, 0, 1, 1, 2}};
  EXPECT_EQ(OnCuda(routed, offset(), 1), (Sorted{.begins = {0, 2, 4, 6},
                                                 .row_pairs = {0, 2, 3, 4, 1, 5},
                                                 .row_tokens = {0, 1, 1, 2, 0, 2},
                                                 .pair_rows = {0, 4, 1, 2, 3, 5}}));
}

// Rows of a dispatch that are added up, and what the sum held before.
struct Combined {
  Combined(const RoutedTokens& routed_of, int64_t width_of, uint32_t seed)
      : routed(routed_of), width(width_of), sorted(ByReference(routed)), random(seed) {
    // Of such different sizes that the order of additions shows.
    rows = RandomBf16(random, RowCount() * width);
    for (uint16_t& value : rows) {
      value = Narrowed(std::ldexp(Widened(value), static_cast<int>(random() % 25) - 12));
    }
    before = RandomFp32(random, routed.tokens * width);
  }
  int64_t RowCount() const { return static_cast<int64_t>(routed.chosen.size()); }
  CombinePairs Args(CombineOrder order, bool add) const {
    return {.order = order,
            .tokens = routed.tokens,
            .per_token = routed.per_token,
            .width = width,
            .end_expert = routed.experts,
            .add = add};
  }
  RoutedTokens routed;
  int64_t width;
  Sorted sorted;
  std::mt19937 random;
  std::vector<uint16_t> rows;
  std::vector<float> before;
};

std::vector<float> CombinedByReference(const Combined& combined, CombineOrder order, bool add) {
  const std::vector<float> rows = Widened(combined.rows);
  std::vector<float> sum = combined.before;
  CombinePairs args = combined.Args(order, add);
  args.chosen = combined.routed.chosen.data();
  args.pair_rows = combined.sorted.pair_rows.data();
  args.rows = rows.data();
  args.sum = sum.data();
  EXPECT_TRUE(CombinePairsReference({}, args).ok());
  return sum;
}

// In one call, or one after the other for each of these ranges of experts.
std::vector<float> CombinedOnCuda(const Combined& combined, CombineOrder order, bool add,
                                  const std::vector<int64_t>& borders, int64_t offset,
                                  uint64_t seed) {
  const CudaStream stream(seed);
  const DeviceArray<int32_t> chosen(stream, combined.routed.chosen, offset);
  const DeviceArray<int32_t> pair_rows(stream, combined.sorted.pair_rows, offset);
  const DeviceArray<uint16_t> rows(stream, combined.rows, offset);
  const DeviceArray<float> sum(stream, combined.before, offset);
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    const bool descending = order == CombineOrder::kDescending;
    const size_t range = descending ? borders.size() - 2 - i : i;
    CombinePairs args = combined.Args(order, add || i > 0);
    args.first_expert = borders[range];
    args.end_expert = borders[range + 1];
    args.chosen = chosen.data();
    args.pair_rows = pair_rows.data();
    args.rows = rows.data();
    args.sum = sum.data();
    const absl::Status status = CombinePairsCuda(stream.context(), args);
    EXPECT_TRUE(status.ok()) << status;
  }
  return sum.Read();
}

TEST_P(DispatchCudaTest, CombineHasTheReferencesBitsForAnyRangesOfExperts) {
  std::mt19937 random(3);
  for (const CombineOrder order : {CombineOrder::kAscending, CombineOrder::kDescending}) {
    for (const bool add : {false, true}) {
      for (const auto& [tokens, width] :
           std::vector<std::pair<int64_t, int64_t>>{{0, 8}, {1, 8}, {5, 24}, {70, 264}}) {
        const Combined combined(RandomRoutes(tokens, 11, 6, random), width, 4);
        const std::vector<float> expected = CombinedByReference(combined, order, add);
        EXPECT_EQ(CombinedOnCuda(combined, order, add, {0, 11}, offset(), 1), expected) << width;
        EXPECT_EQ(CombinedOnCuda(combined, order, add, {0, 1, 7, 7, 11}, offset(), 2), expected)
            << width;
      }
    }
  }
}

TEST_P(DispatchCudaTest, TheTwoOrdersOfASumDiffer) {
  if (offset() != 0) return;
  std::mt19937 random(5);
  const Combined combined(RandomRoutes(50, 11, 6, random), 8, 6);
  EXPECT_NE(CombinedOnCuda(combined, CombineOrder::kAscending, false, {0, 11}, 0, 1),
            CombinedOnCuda(combined, CombineOrder::kDescending, false, {0, 11}, 0, 1));
}

// More than all thread blocks take at once.
TEST_P(DispatchCudaTest, ManySumsAreStridedOver) {
  if (offset() != 0) return;
  const Combined combined(EqualRoutes(4'100, 2, 1, 1), 2'056, 7);
  EXPECT_EQ(CombinedOnCuda(combined, CombineOrder::kAscending, false, {0, 2}, 0, 1),
            CombinedByReference(combined, CombineOrder::kAscending, false));
}

}  // namespace
}  // namespace horizon
