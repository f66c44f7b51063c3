#include "runtime/data/text_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Cut(std::string_view text, size_t most) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    pieces.emplace_back(text.substr(0, PieceLength(text, most)));
    if (pieces.back().empty()) break;
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

TEST(TextPiece, EndsAtTheLastLineBreakBetweenTwoWords) {
  EXPECT_THAT(Cut("", 7), IsEmpty());
  EXPECT_THAT(Cut("ab\ncd\n", 7), ElementsAre("ab\ncd\n"));
  EXPECT_THAT(Cut("ab\ncd\ne", 7), ElementsAre("ab\ncd\ne"));
  EXPECT_THAT(Cut("ab\ncd\nefghi", 7), ElementsAre("ab\ncd\n", "efghi"));
  EXPECT_THAT(Cut("abcdef\nghi", 7), ElementsAre("abcdef\n", "ghi"));
  EXPECT_THAT(Cut("ab\ncd\n\nefg", 7), ElementsAre("ab\n", "cd\n\nefg"));
  EXPECT_THAT(Cut("ab\ncd\n efg", 7), ElementsAre("ab\n", "cd\n efg"));
  EXPECT_THAT(Cut("abcd\n\nefghi", 7), ElementsAre("abcd\n\n", "efghi"));
  EXPECT_THAT(Cut("ab\r\ncdefghi", 7), ElementsAre("ab\r\n", "cdefghi"));
  EXPECT_THAT(Cut("ab\n\fcdefghi", 7), ElementsAre("ab\n\fcde", "fghi"));
}

TEST(TextPiece, EndsBeforeASpaceWithoutALineBreak) {
  EXPECT_THAT(Cut("ab cd efgh", 7), ElementsAre("ab cd", " efgh"));
  EXPECT_THAT(Cut("abcd   efg", 7), ElementsAre("abcd", "   efg"));
  EXPECT_THAT(Cut("\nab efghij", 7), ElementsAre("\n", "ab", " efghij"));
}

TEST(TextPiece, EndsBetweenCharactersWithoutASpace) {
  EXPECT_THAT(Cut("abcdefghij", 7), ElementsAre("abcdefg", "hij"));
  EXPECT_THAT(Cut("abcdef\u4f60xx", 8), ElementsAre("abcdef", "\u4f60xx"));
  EXPECT_THAT(Cut("\U0001F44D\U0001F44D\U0001F44D", 7),
              ElementsAre("\U0001F44D", "\U0001F44D", "\U0001F44D"));
  EXPECT_THAT(Cut("\U0001F44D\U0001F44D", 4), ElementsAre("\U0001F44D", "\U0001F44D"));
  EXPECT_THAT(Cut(std::string(6, '\x80'), 4), ElementsAre("\x80\x80\x80\x80", "\x80\x80"));
}

TEST(TextPiece, PiecesAreTogetherTheText) {
  const std::string unit = "line\n\n  \u00e9\u4f60\r\n\tx\n\xFF\x80\x80\x80\x80 y";
  std::string text;
  for (int i = 0; i < 50; ++i) text += unit;
  for (size_t most = 4; most < 80; ++most) {
    std::string together;
    for (const std::string& piece : Cut(text, most)) {
      EXPECT_LE(piece.size(), most);
      together += piece;
    }
    ASSERT_EQ(together, text) << most;
  }
}

}  // namespace
}  // namespace horizon
