#include "common/text/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace horizon {
namespace {

TEST(Quoted, LeavesReadableTextAlone) {
  EXPECT_EQ(Quoted("two words"), "\"two words\"");
  EXPECT_EQ(Quoted("größe"), "\"größe\"");
  EXPECT_EQ(Quoted(""), "\"\"");
}

TEST(Quoted, EscapesWhatWouldSpoilTheMessage) {
  EXPECT_EQ(Quoted("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(Quoted("\x1b[31m"), "\"\\033[31m\"");
  EXPECT_EQ(Quoted("say \"x\""), "\"say \\\"x\\\"\"");
  EXPECT_EQ(Quoted(std::string("a\0b", 3)), "\"a\\000b\"");
}

TEST(Quoted, ShortensLongTextAtACharacterBorder) {
  EXPECT_EQ(Quoted(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
  // 59 letters and a three-byte character: the character is not cut in two.
  EXPECT_EQ(Quoted(std::string(59, 'x') + "€ and more"), "\"" + std::string(59, 'x') + "...\"");
  EXPECT_LT(Quoted(std::string(1'000'000, '\x80')).size(), 300U);
}

}  // namespace
}  // namespace horizon
