#include "common/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {
namespace {

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Bit by bit from the definition, sharing no table with the code.
uint32_t ByDefinition(std::span<const std::byte> bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78 : crc >> 1;
  }
  return ~crc;
}

std::vector<std::byte> Pattern(size_t count) {
  std::vector<std::byte> bytes(count);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// RFC 3720 (iSCSI), appendix B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, GivesTheKnownAnswers) {
  const std::string zeros(32, '\0');
  const std::string ones(32, '\xFF');
  std::string up;
  std::string down;
  for (int i = 0; i < 32; ++i) {
    up.push_back(static_cast<char>(i));
    down.push_back(static_cast<char>(31 - i));
  }
  const std::pair<std::string_view, uint32_t> cases[] = {
      {"", 0},          {"123456789", 0xE3069283}, {zeros, 0x8A9136AA}, {ones, 0x62A8AB43},
      {up, 0x46DD794E}, {down, 0x113FDB5C}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(Crc32c(AsBytes(text)), expected) << text;
    EXPECT_EQ(Crc32cPortable(AsBytes(text)), expected) << text;
  }
}

// 6,144 bytes is where the three stretches of the fast body begin.
TEST(Crc32c, BothBodiesFollowTheDefinitionAtEverySizeAndAlignment) {
  const std::vector<std::byte> bytes = Pattern(20'000);
  std::vector<size_t> sizes;
  for (size_t size = 0; size < 100; ++size) sizes.push_back(size);
  for (const size_t size : {2047, 2048, 6143, 6144, 6145, 6151, 6152, 12'287, 12'288, 19'983}) {
    sizes.push_back(size);
  }
  for (const size_t size : sizes) {
    for (size_t start = 0; start < 9; ++start) {
      const auto part = std::span(bytes).subspan(start, size);
      const uint32_t expected = ByDefinition(part);
      EXPECT_EQ(Crc32c(part), expected) << size << " at " << start;
      EXPECT_EQ(Crc32cPortable(part), expected) << size << " at " << start;
    }
  }
}

RC_GTEST_PROP(Crc32cProperty, PartsAreSummedOneAfterTheOtherOrPutTogetherLater,
              (const std::vector<uint8_t>& first, const std::vector<uint8_t>& second)) {
  std::vector<uint8_t> whole = first;
  whole.insert(whole.end(), second.begin(), second.end());
  const auto a = std::as_bytes(std::span(first));
  const auto b = std::as_bytes(std::span(second));
  const uint32_t expected = ByDefinition(std::as_bytes(std::span(whole)));
  RC_ASSERT(Crc32c(b, Crc32c(a)) == expected);
  RC_ASSERT(Crc32cPortable(b, Crc32cPortable(a)) == expected);
  RC_ASSERT(Crc32cCombine(Crc32c(a), Crc32c(b), b.size()) == expected);
}

TEST(Crc32c, LargePartsAreCutAnywhere) {
  const std::vector<std::byte> bytes = Pattern(300'001);
  const uint32_t expected = Crc32cPortable(bytes);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{65'535}, size_t{300'000}, bytes.size()}) {
    const auto first = std::span(bytes).first(cut);
    const auto second = std::span(bytes).subspan(cut);
    EXPECT_EQ(Crc32cCombine(Crc32c(first), Crc32c(second), second.size()), expected) << cut;
    EXPECT_EQ(Crc32c(second, Crc32c(first)), expected) << cut;
  }
}

// (a b) c = a (b c) also for lengths that no test can hold in memory.
RC_GTEST_PROP(Crc32cProperty, CombiningIsAssociativeForAnyLengths,
              (uint32_t a, uint32_t b, uint32_t c, uint64_t b_bytes, uint64_t c_bytes)) {
  b_bytes >>= 1;
  c_bytes >>= 1;
  RC_ASSERT(Crc32cCombine(Crc32cCombine(a, b, b_bytes), c, c_bytes) ==
            Crc32cCombine(a, Crc32cCombine(b, c, c_bytes), b_bytes + c_bytes));
}

TEST(Crc32c, EveryFlippedBitChangesIt) {
  std::vector<std::byte> bytes = Pattern(7'000);
  const uint32_t good = Crc32c(bytes);
  for (size_t i = 0; i < bytes.size(); i += 13) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= std::byte{1} << bit;
      EXPECT_NE(Crc32c(bytes), good);
      bytes[i] ^= std::byte{1} << bit;
    }
  }
}

TEST(Crc32c, IsPrintedWithEightDigits) {
  EXPECT_EQ(Crc32cText(0), "00000000");
  EXPECT_EQ(Crc32cText(0xE3069283), "e3069283");
}

}  // namespace
}  // namespace horizon
