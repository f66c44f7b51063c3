#include "common/text/text_table.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace horizon
