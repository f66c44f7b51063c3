#include "common/text/wrap.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace horizon {
namespace {

TEST(WrapText, BreaksBetweenWordsAndNeverBeyondTheWidth) {
  EXPECT_EQ(WrapText("one two three", {.width = 7}), "one two\nthree");
  EXPECT_EQ(WrapText("one two three", {.width = 8}), "one two\nthree");
  EXPECT_EQ(WrapText("one two three", {.width = 13}), "one two three");
  EXPECT_EQ(WrapText("  one\n two ", {.width = 20}), "one two");
  EXPECT_EQ(WrapText("", {.width = 20}), "");
}

TEST(WrapText, CountsWhatStandsInFrontAndHangs) {
  // "xxxx" stands in the first four columns.
  EXPECT_EQ(WrapText("ab cd ef", {.width = 9, .column = 4, .hang = 2}), "ab cd\n  ef");
  EXPECT_EQ(WrapText("ab cd ef", {.width = 8, .column = 4, .hang = 2}), "ab\n  cd ef");
}

TEST(WrapText, GivesAWordThatIsTooLongItsOwnLine) {
  EXPECT_EQ(WrapText("a incredible b", {.width = 4}), "a\nincredible\nb");
  EXPECT_EQ(WrapText("incredible", {.width = 4}), "incredible");
}

TEST(WrapParts, BreaksNoPart) {
  const std::vector<std::string> parts = {"A", "[--batch SEQUENCES]", "[--json]"};
  EXPECT_EQ(WrapParts(parts, {.width = 24, .column = 2, .hang = 2}),
            "A [--batch SEQUENCES]\n  [--json]");
}

TEST(WrapParagraphs, JoinsLinesUntilAnEmptyOne) {
  EXPECT_EQ(WrapParagraphs("one\ntwo\n\nthree\n", 80), "one two\n\nthree\n");
  EXPECT_EQ(WrapParagraphs("", 80), "");
  EXPECT_EQ(WrapParagraphs("one two", 3), "one\ntwo\n");
}

TEST(WrapParagraphs, KeepsIndentedLinesAndHangsThemBelowTheirSecondColumn) {
  EXPECT_EQ(WrapParagraphs("Actions:\n  show RUN   all of the\n  prune\nDone.", 19),
            "Actions:\n  show RUN   all of\n             the\n  prune\nDone.\n");
  EXPECT_EQ(WrapParagraphs("  one two three", 10), "  one two\n  three\n");
}

TEST(WrapMessage, BreaksAtSpacesAndHangsWhatFollows) {
  EXPECT_EQ(WrapMessage("one two three", {.width = 9, .hang = 2}), "one two\n  three");
  EXPECT_EQ(WrapMessage("one two three", {.width = 9, .column = 4, .hang = 2}),
            "one\n  two\n  three");
  EXPECT_EQ(WrapMessage("one two three", {.width = 13}), "one two three");
  EXPECT_EQ(WrapMessage("one two three", {.width = kAnyWidth}), "one two three");
  EXPECT_EQ(WrapMessage("", {.width = 4}), "");
}

TEST(WrapMessage, KeepsSpacesAndLineBreaksOfTheMessage) {
  EXPECT_EQ(WrapMessage("  a   b\n\n  c ", {.width = 20, .hang = 2}), "  a   b\n\n  c ");
  EXPECT_EQ(WrapMessage("aa bb\ncc dd", {.width = 5, .column = 0, .hang = 1}), "aa bb\ncc dd");
  // Two spaces at a break are none of the next line's.
  EXPECT_EQ(WrapMessage("aaaa  bbbb", {.width = 6, .hang = 1}), "aaaa\n bbbb");
}

TEST(WrapMessage, BreaksNoWordAndCountsColumnsOfTheTerminal) {
  EXPECT_EQ(WrapMessage("from /a/very/long/path there", {.width = 8, .hang = 2}),
            "from\n  /a/very/long/path\n  there");
  // Three columns in six bytes: the line still fits.
  EXPECT_EQ(WrapMessage("\u00fc\u00fc\u00fc b", {.width = 5}), "\u00fc\u00fc\u00fc b");
}

}  // namespace
}  // namespace horizon
