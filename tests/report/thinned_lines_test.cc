#include "report/thinned_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace horizon {
namespace {

TEST(ThinnedLines, HoldsAllOfAShortRun) {
  ThinnedLines<int64_t> lines;
  EXPECT_TRUE(lines.empty());
  std::vector<int64_t> all;
  for (int64_t i = 0; i < static_cast<int64_t>(ThinnedLines<int64_t>::kMost); ++i) {
    lines.Add(i);
    all.push_back(i);
    EXPECT_TRUE(lines.last_is_kept());
  }
  EXPECT_EQ(lines.lines(), all);
  EXPECT_EQ(lines.every(), 1u);
}

TEST(ThinnedLines, HoldsEveryNthOfALongRunTheFirstAndTheLast) {
  ThinnedLines<int64_t> lines;
  for (int64_t i = 0; i < 100'001; ++i) {
    lines.Add(i);
    ASSERT_LE(lines.lines().size(), ThinnedLines<int64_t>::kMost);
    ASSERT_EQ(lines.lines().front(), 0);
    ASSERT_EQ(lines.lines().back(), i);
    ASSERT_EQ(lines.count(), static_cast<uint64_t>(i + 1));
    ASSERT_EQ(lines.last_is_kept(), i % static_cast<int64_t>(lines.every()) == 0);
  }
  EXPECT_EQ(lines.every(), 32u);
  EXPECT_GT(lines.lines().size(), ThinnedLines<int64_t>::kMost / 2);
  for (size_t i = 0; i + 1 < lines.lines().size(); ++i) {
    ASSERT_EQ(lines.lines()[i], static_cast<int64_t>(i * lines.every()));
  }
}

// So that whoever shows them only has to add.
TEST(ThinnedLines, WhatIsKeptOnlyGrowsBetweenHalvings) {
  ThinnedLines<int64_t> lines;
  for (int64_t i = 0; i < 9000; ++i) lines.Add(i);
  std::vector<int64_t> before = lines.lines();
  if (!lines.last_is_kept()) before.pop_back();
  const uint64_t every = lines.every();
  for (int64_t i = 9000; i < 9100; ++i) lines.Add(i);
  ASSERT_EQ(lines.every(), every);
  for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(lines.lines()[i], before[i]);
}

TEST(ThinnedLines, BeginsAnewWhenItIsCleared) {
  ThinnedLines<int64_t> lines;
  for (int64_t i = 0; i < 10'000; ++i) lines.Add(i);
  lines.Clear();
  EXPECT_TRUE(lines.empty());
  lines.Add(7);
  EXPECT_THAT(lines.lines(), testing::ElementsAre(7));
  EXPECT_EQ(lines.every(), 1u);
}

}  // namespace
}  // namespace horizon
