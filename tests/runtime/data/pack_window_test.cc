#include "runtime/data/pack_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace horizon {
namespace {

using testing::ElementsAre;
using Rows = std::vector<std::vector<int32_t>>;

TEST(PackWindow, TheTightestRowTakesTheSample) {
  // 7 and 6 begin rows, 3 fits the first exactly, 2 and 2 the second.
  EXPECT_EQ(PackWindow(std::vector<int64_t>{2, 7, 3, 6, 2}, 10), (Rows{{1, 2}, {3, 0, 4}}));
  EXPECT_EQ(PackWindow(std::vector<int64_t>{5, 5, 5}, 10), (Rows{{0, 1}, {2}}));
  EXPECT_EQ(PackWindow(std::vector<int64_t>{10, 10}, 10), (Rows{{0}, {1}}));
  EXPECT_EQ(PackWindow({}, 10), Rows());
  // 5 leaves 5, 4 goes there and leaves 1; two of 3 begin the next row beside each other.
  EXPECT_EQ(PackWindow(std::vector<int64_t>{3, 4, 5, 3}, 10), (Rows{{2, 1}, {0, 3}}));
}

RC_GTEST_PROP(PackWindow, EverySampleIsInOneRowAndNoRowIsTooLong, (std::vector<uint16_t> numbers)) {
  const int64_t sequence = *rc::gen::inRange<int64_t>(1, 300);
  std::vector<int64_t> lengths;
  for (const uint16_t number : numbers) lengths.push_back(1 + number % sequence);
  const Rows rows = PackWindow(lengths, sequence);
  std::vector<int> seen(lengths.size());
  int64_t total = 0;
  int64_t below_half = 0;
  for (const std::vector<int32_t>& row : rows) {
    int64_t used = 0;
    for (const int32_t sample : row) {
      ++seen[static_cast<size_t>(sample)];
      used += lengths[static_cast<size_t>(sample)];
    }
    RC_ASSERT(!row.empty());
    RC_ASSERT(used <= sequence);
    total += used;
    below_half += 2 * used <= sequence ? 1 : 0;
  }
  for (const int times : seen) RC_ASSERT(times == 1);
  // Two rows that are at most half full would have been one.
  RC_ASSERT(below_half <= 1);
}

}  // namespace
}  // namespace horizon
