#include "runtime/data/shuffled_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace horizon {
namespace {

std::vector<uint64_t> OrderOf(uint64_t count, uint64_t seed, uint64_t epoch) {
  const ShuffledOrder order(count, seed, epoch);
  std::vector<uint64_t> numbers(count);
  for (uint64_t i = 0; i < count; ++i) numbers[i] = order.At(i);
  return numbers;
}

TEST(ShuffledOrder, HoldsEveryNumberOnce) {
  for (uint64_t count = 1; count < 300; ++count) {
    std::vector<uint64_t> numbers = OrderOf(count, count, 2);
    std::sort(numbers.begin(), numbers.end());
    std::vector<uint64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(numbers, all);
  }
  for (const uint64_t count : {65535u, 65536u, 65537u}) {
    std::vector<uint64_t> numbers = OrderOf(count, 1, 0);
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
    EXPECT_EQ(numbers.back(), count - 1);
  }
}

TEST(ShuffledOrder, IsTheSameForTheSameKeyAndAnotherForAnother) {
  const std::vector<uint64_t> order = OrderOf(1000, 5, 7);
  EXPECT_EQ(OrderOf(1000, 5, 7), order);
  const uint64_t high = uint64_t{1} << 40;
  std::set<std::vector<uint64_t>> others = {order};
  for (const auto& [seed, epoch] : std::vector<std::pair<uint64_t, uint64_t>>{
           {6, 7}, {5, 8}, {7, 5}, {5 + high, 7}, {5, 7 + high}}) {
    EXPECT_TRUE(others.insert(OrderOf(1000, seed, epoch)).second) << seed << " " << epoch;
  }
}

// A shuffle written down once stays: a run is resumed with the order it was started with.
TEST(ShuffledOrder, DoesNotChangeBetweenVersions) {
  EXPECT_EQ(OrderOf(8, 0, 0), (std::vector<uint64_t>{3, 5, 2, 4, 6, 7, 0, 1}));
}

TEST(ShuffledOrder, PutsEveryNumberAtEveryPlaceEquallyOften) {
  for (const uint64_t count : {2u, 3u, 7u, 16u}) {
    constexpr int kEpochs = 4000;
    std::vector<int> seen(count * count);
    for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const std::vector<uint64_t> order = OrderOf(count, 3, epoch);
      for (uint64_t place = 0; place < count; ++place) ++seen[place * count + order[place]];
    }
    // A binomial count; six deviations.
    const double share = 1.0 / static_cast<double>(count);
    const double mean = kEpochs * share;
    const double deviation = std::sqrt(mean * (1 - share));
    for (const int times : seen) EXPECT_NEAR(times, mean, 6 * deviation) << count;
  }
}

TEST(ShuffledOrder, NeighboursDoNotStayNeighbours) {
  const std::vector<uint64_t> order = OrderOf(100'000, 11, 0);
  int together = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    together += order[i] == order[i - 1] + 1 ? 1 : 0;
  }
  // One is expected, Poisson: more than 10 has probability 1e-8.
  EXPECT_LE(together, 10);
}

TEST(ShuffledOrder, ReachesLargeCounts) {
  const uint64_t count = uint64_t{1} << 62;
  const ShuffledOrder order(count, 1, 1);
  std::set<uint64_t> numbers;
  uint64_t largest = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t number = order.At(count - 1 - i);
    ASSERT_LT(number, count);
    numbers.insert(number);
    largest = std::max(largest, number);
  }
  EXPECT_EQ(numbers.size(), 1000u);
  EXPECT_GT(largest, count / 2);
}

}  // namespace
}  // namespace horizon
