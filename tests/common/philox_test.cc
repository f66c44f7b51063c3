#include "common/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

namespace horizon {
namespace {

// The known answers published with the Random123 library (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox({{0, 0}}, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({{0xffffffff, 0xffffffff}}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({{0xa4093822, 0x299f31d0}}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysAndCountersKeepAllBitsOfTheirParts) {
  EXPECT_EQ(PhiloxKeyOf(0x1122334455667788).words,
            (std::array<uint32_t, 2>{0x55667788, 0x11223344}));
  EXPECT_EQ(PhiloxCounterOf(0x1122334455667788, 0x99aabbccddeeff00),
            (PhiloxBlock{0x55667788, 0x11223344, 0xddeeff00, 0x99aabbcc}));
}

TEST(Philox, OneBitOfKeyOrCounterChangesAboutHalfOfTheBits) {
  const PhiloxBlock before = Philox(PhiloxKeyOf(7), PhiloxCounterOf(5, 3));
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flip = uint64_t{1} << bit;
    for (const PhiloxBlock& after : {Philox(PhiloxKeyOf(7 ^ flip), PhiloxCounterOf(5, 3)),
                                     Philox(PhiloxKeyOf(7), PhiloxCounterOf(5 ^ flip, 3)),
                                     Philox(PhiloxKeyOf(7), PhiloxCounterOf(5, 3 ^ flip))}) {
      int changed = 0;
      for (size_t i = 0; i < 4; ++i) changed += std::popcount(before[i] ^ after[i]);
      // 64 of 128 with a deviation of 5.7; six of them to each side.
      EXPECT_GT(changed, 30) << bit;
      EXPECT_LT(changed, 98) << bit;
    }
  }
}

// FNV-1a's published values of "", "a" and "foobar".
TEST(Philox, StreamsOfNamesAreTheirFnvHash) {
  EXPECT_EQ(PhiloxStreamOf(""), 0xcbf29ce484222325);
  EXPECT_EQ(PhiloxStreamOf("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(PhiloxStreamOf("foobar"), 0x85944171f73967e8);
}

}  // namespace
}  // namespace horizon
