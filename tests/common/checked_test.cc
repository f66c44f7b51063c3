#include "common/checked.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>

namespace horizon {
namespace {

__extension__ using Uint128 = unsigned __int128;

// All ones says "overflowed", so the largest count is one below it.
constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max() - 1;
constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;
constexpr uint64_t kTwoTo63 = uint64_t{1} << 63;

void ExpectEqualsWide(CheckedU64 result, Uint128 exact) {
  RC_ASSERT(result.ok() == (exact <= kLargest));
  if (result.ok()) RC_ASSERT(result.value() == static_cast<uint64_t>(exact));
}

// Small, large and in between alike: a plain random 64-bit number hardly ever has a small product.
rc::Gen<uint64_t> AnyMagnitude() {
  return rc::gen::apply([](uint64_t bits, int shift) { return bits >> shift; },
                        rc::gen::arbitrary<uint64_t>(), rc::gen::inRange(0, 64));
}

RC_GTEST_PROP(CheckedU64, ArithmeticEqualsThatOf128BitsOrSaysOverflowed, ()) {
  const uint64_t a = *AnyMagnitude();
  const uint64_t b = *AnyMagnitude();
  RC_PRE(a <= kLargest && b <= kLargest);
  ExpectEqualsWide(CheckedU64(a) + CheckedU64(b), Uint128{a} + b);
  ExpectEqualsWide(CheckedU64(a) * CheckedU64(b), Uint128{a} * b);
  const CheckedU64 difference = CheckedU64(a) - CheckedU64(b);
  RC_ASSERT(difference.ok() == (a >= b));
  if (a >= b) RC_ASSERT(difference.value() == a - b);
  if (b > 0) ExpectEqualsWide(CheckedU64(a).RoundedUp(b), (Uint128{a} + b - 1) / b * b);
}

TEST(CheckedU64, ProductsThatWrapToSmallNumbersAreOverflowed) {
  EXPECT_FALSE((CheckedU64(kTwoTo32) * kTwoTo32).ok());
  EXPECT_FALSE((CheckedU64(kTwoTo63) * 2).ok());
  EXPECT_FALSE((CheckedU64(4194305) * 4194305 * 211106198978564).ok());
  EXPECT_EQ((CheckedU64(kTwoTo32) * (kTwoTo32 - 1)).value(), kTwoTo32 * (kTwoTo32 - 1));
}

TEST(CheckedU64, SumsAtTheEdge) {
  EXPECT_EQ((CheckedU64(kLargest - 1) + 1).value(), kLargest);
  EXPECT_FALSE((CheckedU64(kLargest) + 1).ok());
  EXPECT_FALSE((CheckedU64(kLargest) + kLargest).ok());
  EXPECT_FALSE((CheckedU64(0) - 1).ok());
}

TEST(CheckedU64, OverflowStaysThroughEveryOperation) {
  const CheckedU64 lost = CheckedU64::Overflowed();
  EXPECT_FALSE((lost + 0).ok());
  EXPECT_FALSE((lost * 0).ok());
  EXPECT_FALSE((CheckedU64(0) * lost).ok());
  EXPECT_FALSE((lost - lost).ok());
  EXPECT_FALSE((CheckedU64(5) - lost).ok());
  EXPECT_FALSE(lost.RoundedUp(8).ok());
  CheckedU64 sum = lost;
  sum += 1;
  sum *= 0;
  EXPECT_FALSE(sum.ok());
}

TEST(CheckedU64, RoundingUpBeyondTheEdgeIsOverflowed) {
  EXPECT_FALSE(CheckedU64(kLargest).RoundedUp(4096).ok());
  EXPECT_FALSE(CheckedU64(1).RoundedUp(0).ok());
  EXPECT_EQ(CheckedU64(0).RoundedUp(4096).value(), 0U);
  EXPECT_EQ(CheckedU64(1).RoundedUp(4096).value(), 4096U);
  EXPECT_EQ(CheckedU64(4096).RoundedUp(4096).value(), 4096U);
  EXPECT_EQ(CheckedU64(4097).RoundedUp(4096).value(), 8192U);
}

TEST(CheckedU64, NegativeCountsAreOverflowed) {
  EXPECT_FALSE(CheckedU64::FromSigned(-1).ok());
  EXPECT_FALSE(CheckedU64::FromSigned(std::numeric_limits<int64_t>::min()).ok());
  EXPECT_EQ(CheckedU64::FromSigned(std::numeric_limits<int64_t>::max()).value(), kTwoTo63 - 1);
}

TEST(CheckedU64, IsOrderedAndOverflowedIsAboveAll) {
  EXPECT_LT(CheckedU64(1), CheckedU64(2));
  EXPECT_LT(CheckedU64(kLargest), CheckedU64::Overflowed());
}

}  // namespace
}  // namespace horizon
