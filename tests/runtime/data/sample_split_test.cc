#include "runtime/data/sample_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace horizon {
namespace {

using Part = SampleSplit::Part;

std::set<int64_t> Samples(const SampleSplit& split) {
  std::set<int64_t> samples;
  for (int64_t i = 0; i < split.count(); ++i) samples.insert(split.At(i));
  EXPECT_EQ(static_cast<int64_t>(samples.size()), split.count());
  return samples;
}

TEST(SampleSplit, TrainAndEvalShareNoSampleAndLeaveNoneOut) {
  for (const int64_t total : {2, 3, 10, 999}) {
    for (const double share : {0.001, 0.1, 0.3333, 0.5}) {
      const auto train = SampleSplit::Create(total, share, 5, Part::kTrain);
      const auto eval = SampleSplit::Create(total, share, 5, Part::kEval);
      ASSERT_EQ(train.ok(), eval.ok());
      if (!train.ok()) continue;
      std::set<int64_t> all = Samples(*train);
      for (const int64_t sample : Samples(*eval)) EXPECT_TRUE(all.insert(sample).second);
      EXPECT_EQ(static_cast<int64_t>(all.size()), total);
      EXPECT_EQ(*all.begin(), 0);
      EXPECT_EQ(*all.rbegin(), total - 1);
      EXPECT_NEAR(static_cast<double>(eval->count()), share * static_cast<double>(total), 0.5);
    }
  }
}

TEST(SampleSplit, TheSeedDecidesWhatIsHeldOut) {
  const auto held_out = [](int64_t seed) {
    return Samples(*SampleSplit::Create(1000, 0.1, seed, Part::kEval));
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
  // It is drawn from everywhere, not the beginning.
  EXPECT_GT(*held_out(1).rbegin(), 800);
}

TEST(SampleSplit, NothingHeldOutIsEverySampleInOrder) {
  const auto train = SampleSplit::Create(5, 0, 5, Part::kTrain);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(train->At(i), i);
    EXPECT_EQ(SampleSplit::All(5).At(i), i);
  }
}

TEST(SampleSplit, RefusesAShareThatLeavesNothing) {
  for (const double share : {-0.1, 0.51, 1.0, std::nan("")}) {
    EXPECT_FALSE(SampleSplit::Create(100, share, 0, Part::kTrain).ok()) << share;
  }
  EXPECT_FALSE(SampleSplit::Create(10, 0.01, 0, Part::kEval).ok());
  EXPECT_FALSE(SampleSplit::Create(1, 0.5, 0, Part::kTrain).ok());
  EXPECT_FALSE(SampleSplit::Create(10, 0, 0, Part::kEval).ok());
}

}  // namespace
}  // namespace horizon
