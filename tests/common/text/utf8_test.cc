#include "common/text/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace horizon {
namespace {

// A code point in the shortest form, or in one that is `extra` bytes too long.
std::string Encoded(uint32_t code, int bytes) {
  constexpr uint32_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  if (bytes == 1) return {static_cast<char>(code)};
  std::string text(static_cast<size_t>(bytes), '\0');
  for (int i = bytes - 1; i > 0; --i) {
    text[static_cast<size_t>(i)] = static_cast<char>(0x80U | (code & 0x3FU));
    code >>= 6U;
  }
  text[0] = static_cast<char>(kLead[bytes] | code);
  return text;
}

int ShortestLength(uint32_t code) {
  return code < 0x80 ? 1 : (code < 0x800 ? 2 : (code < 0x10000 ? 3 : 4));
}

TEST(Utf8Length, AcceptsEveryCodePointInItsShortestFormOnly) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const int length = ShortestLength(code);
    ASSERT_EQ(Utf8Length(Encoded(code, length)), surrogate ? 0U : static_cast<size_t>(length))
        << code;
    for (int longer = length + 1; longer <= 4; ++longer) {
      ASSERT_EQ(Utf8Length(Encoded(code, longer)), 0U) << code << " in " << longer << " bytes";
    }
  }
}

TEST(Utf8Length, RefusesWhatLiesAboveUnicode) {
  for (uint32_t code = 0x110000; code < 0x200000; code += 0x3FF) {
    ASSERT_EQ(Utf8Length(Encoded(code, 4)), 0U) << code;
  }
  for (int lead = 0xF5; lead <= 0xFF; ++lead) {
    EXPECT_EQ(Utf8Length(std::string(1, static_cast<char>(lead)) + "\x80\x80\x80"), 0U) << lead;
  }
}

TEST(Utf8Length, RefusesCutAndStraySequences) {
  EXPECT_EQ(Utf8Length(""), 0U);
  EXPECT_EQ(Utf8Length("\xC3"), 0U);
  EXPECT_EQ(Utf8Length("\xE2\x82"), 0U);
  EXPECT_EQ(Utf8Length("\xF0\x9F\x98"), 0U);
  EXPECT_EQ(Utf8Length("\x80"), 0U);
  EXPECT_EQ(Utf8Length("\xE2(\xA1"), 0U);
  EXPECT_EQ(Utf8Length("\xE2\x82("), 0U);
}

TEST(Utf8Length, LooksAtTheFirstSequenceOnly) {
  EXPECT_EQ(Utf8Length("a\xFF"), 1U);
  EXPECT_EQ(Utf8Length("é\xFF"), 2U);
}

}  // namespace
}  // namespace horizon
