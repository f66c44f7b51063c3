#include "runtime/data/sample_mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/data/shuffled_order.h"

namespace horizon {
namespace {

using Key = std::pair<size_t, int64_t>;

SampleMix Mix(const std::vector<int64_t>& counts, const std::vector<double>& weights,
              bool shuffle = true) {
  std::vector<SampleMix::Part> parts;
  for (size_t i = 0; i < counts.size(); ++i) {
    parts.push_back(
        {.split = SampleSplit::All(counts[i]), .weight = weights.empty() ? 0.0 : weights[i]});
  }
  absl::StatusOr<SampleMix> mix =
      SampleMix::Create(std::move(parts), {.shuffle = shuffle, .seed = 5});
  EXPECT_TRUE(mix.ok()) << mix.status();
  return *std::move(mix);
}

std::vector<Key> Epoch(const SampleMix& mix, int64_t epoch) {
  std::vector<Key> keys;
  for (int64_t place = 0; place < mix.count(); ++place) {
    const SampleMix::Sample sample = mix.At(epoch, place);
    keys.emplace_back(sample.part, sample.number);
  }
  return keys;
}

TEST(SampleMix, OneSourceHasTheOrderItAlwaysHad) {
  const SampleMix mix = Mix({100}, {});
  const SampleMix of = SampleMix::Of(SampleSplit::All(100), {.seed = 5});
  const SampleMix weighted = Mix({100}, {0.3});
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const ShuffledOrder order(100, 5, static_cast<uint64_t>(epoch));
    for (int64_t place = 0; place < 100; ++place) {
      const auto number = static_cast<int64_t>(order.At(static_cast<uint64_t>(place)));
      EXPECT_EQ(mix.At(epoch, place).number, number);
      EXPECT_EQ(of.At(epoch, place).number, number);
      EXPECT_EQ(weighted.At(epoch, place).number, number);
    }
  }
}

TEST(SampleMix, WithoutWeightsAnEpochHasEverySampleOnceInAMixedOrder) {
  const SampleMix mix = Mix({7, 1, 40}, {});
  EXPECT_EQ(mix.count(), 48);
  const std::vector<Key> first = Epoch(mix, 0);
  std::vector<Key> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  EXPECT_NE(first, sorted);
  EXPECT_NE(first, Epoch(mix, 1));
  EXPECT_EQ(Epoch(Mix({7, 1, 40}, {}, false), 1), sorted);
}

TEST(SampleMix, WithWeightsEachSourceIsDrawnInProportionAndGoneThroughInTurn) {
  const SampleMix mix = Mix({10, 25, 65}, {1, 2, 1});
  std::map<Key, int> seen;
  std::map<size_t, int> drawn;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    std::map<size_t, int64_t> draws;
    for (const Key& key : Epoch(mix, epoch)) {
      ++draws[key.first];
      ++seen[key];
    }
    // By hand: 100 x 1/4, 2/4, 1/4.
    EXPECT_EQ(draws, (std::map<size_t, int64_t>{{0, 25}, {1, 50}, {2, 25}}));
    for (const auto& [part, count] : draws) drawn[part] += static_cast<int>(count);
    // None comes again before all others of its source have come.
    for (size_t part = 0; part < 3; ++part) {
      const int size = part == 0 ? 10 : part == 1 ? 25 : 65;
      const int passes = drawn[part] / size;
      for (int64_t number = 0; number < size; ++number) {
        const int times = seen[{part, number}];
        EXPECT_TRUE(times == passes || (times == passes + 1 && drawn[part] % size != 0))
            << part << " " << number << " after epoch " << epoch;
      }
    }
  }
}

TEST(SampleMix, EachPassOverASourceHasAnOrderOfItsOwn) {
  const SampleMix mix = Mix({100, 100}, {1, 3});
  const auto first_part = [&](int64_t epoch) {
    std::set<int64_t> numbers;
    for (const auto& [part, number] : Epoch(mix, epoch)) {
      if (part == 0) numbers.insert(number);
    }
    EXPECT_EQ(numbers.size(), 50u);
    return numbers;
  };
  // A pass takes two epochs here.
  std::set<int64_t> pass = first_part(0);
  pass.merge(first_part(1));
  EXPECT_EQ(pass.size(), 100u);
  EXPECT_NE(first_part(0), first_part(2));
}

TEST(SampleMix, WhatRoundingLeavesGoesToTheLargestRemainders) {
  // Of 10: 10/7, 20/7 and 40/7 are 1.43, 2.86 and 5.71.
  const SampleMix mix = Mix({3, 3, 4}, {1, 2, 4});
  EXPECT_EQ(mix.DrawsOf(0), 1);
  EXPECT_EQ(mix.DrawsOf(1), 3);
  EXPECT_EQ(mix.DrawsOf(2), 6);
  const SampleMix odd = Mix({1'000'003, 999'999}, {0.1, 0.7});
  EXPECT_EQ(odd.DrawsOf(0) + odd.DrawsOf(1), odd.count());
  EXPECT_NEAR(static_cast<double>(odd.DrawsOf(0)), 250'000.25, 1);
}

TEST(SampleMix, ImpossibleWeightsAreRefused) {
  const auto status = [](double a, double b) {
    std::vector<SampleMix::Part> parts;
    parts.push_back({.split = SampleSplit::All(5), .weight = a});
    parts.push_back({.split = SampleSplit::All(5), .weight = b});
    return SampleMix::Create(std::move(parts), {}).status();
  };
  EXPECT_TRUE(status(1, 2).ok());
  for (const double weight : {0.0, -1.0, 1e-5, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status(1, weight))) << weight;
    EXPECT_TRUE(absl::IsInvalidArgument(status(weight, 1))) << weight;
  }
}

}  // namespace
}  // namespace horizon
