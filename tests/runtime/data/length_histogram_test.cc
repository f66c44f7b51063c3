#include "runtime/data/length_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace horizon {
namespace {

TEST(LengthHistogram, IsEmptyAtFirst) {
  const LengthHistogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  EXPECT_EQ(histogram.shortest(), 0);
  EXPECT_EQ(histogram.longest(), 0);
}

TEST(LengthHistogram, QuantilesAreAtMostA32ndTooSmall) {
  for (const double power : {1.0, 3.0, 9.0, 18.0}) {
    LengthHistogram histogram;
    std::vector<int64_t> lengths;
    for (int i = 1; i <= 1000; ++i) {
      lengths.push_back(static_cast<int64_t>(std::pow(10.0, power * i / 1000)));
      histogram.Add(lengths.back());
    }
    for (const double share : {0.0, 0.01, 0.5, 0.95, 1.0}) {
      const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(share * 1000)));
      const int64_t exact = lengths[rank - 1];
      const int64_t found = histogram.Quantile(share);
      EXPECT_LE(found, exact);
      EXPECT_GE(static_cast<double>(found), static_cast<double>(exact) * (1 - 1.0 / 32) - 1);
      EXPECT_TRUE(found == exact || exact >= 64);
    }
    EXPECT_EQ(histogram.shortest(), lengths.front());
    EXPECT_EQ(histogram.longest(), lengths.back());
  }
}

TEST(LengthHistogram, CountsBetweenBorders) {
  LengthHistogram histogram;
  for (int64_t length = 0; length < 1000; ++length) histogram.Add(length);
  EXPECT_EQ(histogram.CountBetween(0, 64), 64);
  EXPECT_EQ(histogram.CountBetween(64, 128), 64);
  EXPECT_EQ(histogram.CountBetween(128, 512), 384);
  EXPECT_EQ(histogram.CountBetween(512, 1024), 488);
  EXPECT_EQ(histogram.CountBetween(0, int64_t{1} << 62), 1000);
}

TEST(LengthHistogram, ReachesTheLargestLength) {
  LengthHistogram histogram;
  histogram.Add(INT64_MAX);
  histogram.Add(0);
  EXPECT_EQ(histogram.longest(), INT64_MAX);
  EXPECT_GT(histogram.Quantile(1), INT64_MAX / 32 * 30);
}

TEST(LengthHistogram, IsRestoredFromItsBuckets) {
  LengthHistogram histogram;
  for (const int64_t length : {3, 70, 70, 100'000}) histogram.Add(length);
  EXPECT_EQ(LengthHistogram::Restore(histogram.buckets(), 3, 100'000), histogram);
}

}  // namespace
}  // namespace horizon
