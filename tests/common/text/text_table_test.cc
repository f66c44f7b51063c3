#include "common/text/text_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace horizon {
namespace {

TEST(TextTable, AlignsTheFirstColumnLeftAndTheOthersRight) {
  TextTable table({"stage", "n", "note"});
  table.AddRow({"a", "1,000", "x"});
  table.AddRule();
  table.AddRow({"longest", "7", ""});
  EXPECT_EQ(std::move(table).Finish(),
            "stage        n  note\n"
            "--------------------\n"
            "a        1,000     x\n"
            "--------------------\n"
            "longest      7\n");
}

TEST(TextTable, OneColumnWithoutRows) {
  TextTable table({"x"});
  EXPECT_EQ(std::move(table).Finish(), "x\n-\n");
}

TEST(TextTableDeath, ARowOfAnotherLengthIsABug) {
  TextTable table({"a", "b"});
  EXPECT_DEATH(table.AddRow({"only one"}), "CHECK");
}

TextTable Claims() {
  TextTable table({"claim", "paper", "verdict"});
  table.AddRow({"host memory is linear in the parameters", "1", "holds"});
  table.AddRow({"throughput", "-20 %", "misses by 9.9 points"});
  return table;
}

TEST(TextTable, FitsATerminalByWrappingItsWidestCells) {
  EXPECT_EQ(Claims().Finish(40),
            "claim            paper           verdict\n"
            "----------------------------------------\n"
            "host memory is       1             holds\n"
            "  linear in the\n"
            "  parameters\n"
            "throughput       -20 %     misses by 9.9\n"
            "                                  points\n");
}

TEST(TextTable, IsAsWideAsItNeedsWhereThereIsRoom) {
  const std::string whole = Claims().Finish();
  EXPECT_EQ(Claims().Finish(200), whole);
  EXPECT_EQ(Claims().Finish(kAnyWidth), whole);
  size_t longest = 0;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = whole.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  EXPECT_EQ(Claims().Finish(longest), whole);
  EXPECT_NE(Claims().Finish(longest - 1), whole);
}

// Words are never broken: then the table is wider than the terminal.
TEST(TextTable, KeepsItsWordsInATerminalThatIsTooNarrow) {
  const std::string narrow = Claims().Finish(1);
  for (const char* const word : {"throughput", "parameters", "verdict", "points"}) {
    EXPECT_NE(narrow.find(word), narrow.npos) << word;
  }
}

}  // namespace
}  // namespace horizon
