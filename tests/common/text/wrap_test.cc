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

}  // namespace
}  // namespace horizon
