#include "runtime/loop/even_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EvenSample SampleOf(int count, size_t most) {
  EvenSample sample(most);
  for (int i = 0; i < count; ++i) sample.Add(i);
  return sample;
}

TEST(EvenSample, KeepsAllValuesThatFit) {
  EXPECT_THAT(SampleOf(0, 4).values(), IsEmpty());
  EXPECT_THAT(SampleOf(1, 4).values(), ElementsAre(0));
  EXPECT_THAT(SampleOf(4, 4).values(), ElementsAre(0, 1, 2, 3));
}

TEST(EvenSample, KeepsEverySecondThenEveryFourthWhenTheyDoNot) {
  EXPECT_THAT(SampleOf(5, 4).values(), ElementsAre(0, 2, 4));
  EXPECT_THAT(SampleOf(8, 4).values(), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(SampleOf(9, 4).values(), ElementsAre(0, 4, 8));
  EXPECT_THAT(SampleOf(17, 4).values(), ElementsAre(0, 8, 16));
}

TEST(EvenSample, OfOddSizesStaysEvenlySpreadAndNeverHoldsMore) {
  for (const size_t most : {2u, 3u, 5u, 7u}) {
    for (int count = 2; count < 300; ++count) {
      const EvenSample sample = SampleOf(count, most);
      ASSERT_LE(sample.values().size(), most);
      ASSERT_GE(sample.values().size(), 1u);
      for (size_t i = 2; i < sample.values().size(); ++i) {
        ASSERT_EQ(sample.values()[i] - sample.values()[i - 1], sample.values()[1])
            << most << " of " << count;
      }
    }
  }
}

}  // namespace
}  // namespace horizon
