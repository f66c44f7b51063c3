#include "presentation/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Refusal(std::string_view text) {
  const absl::StatusOr<CsvTable> table = ParseCsv("data.csv", text);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(table.status().message());
}

CsvTable Parsed(std::string_view text) {
  absl::StatusOr<CsvTable> table = ParseCsv("data.csv", text);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *std::move(table) : CsvTable{};
}

TEST(Csv, ReadsPlainQuotedAndEmptyCells) {
  const CsvTable table = Parsed("model,note,tflops\n7b,\"a, \"\"b\"\"\",284\n14b,,\n");
  EXPECT_THAT(table.header, ElementsAre("model", "note", "tflops"));
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("7b", "a, \"b\"", "284"), ElementsAre("14b", "", "")));
  EXPECT_THAT(table.lines, ElementsAre(2, 3));
}

TEST(Csv, LineEndsAndByteOrderMarkAreNoPartOfCells) {
  const CsvTable table = Parsed(
      "\xEF\xBB\xBF"
      "a,b\r\n1,\"2\"\r\n3,4");
  EXPECT_THAT(table.header, ElementsAre("a", "b"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("1", "2"), ElementsAre("3", "4")));
}

TEST(Csv, SpacesArePartOfCells) {
  EXPECT_THAT(Parsed("a,b\n 1 , 2\n").rows, ElementsAre(ElementsAre(" 1 ", " 2")));
}

TEST(Csv, ACellOverSeveralLinesMovesTheLinesBehindIt) {
  const CsvTable table = Parsed("a,b\n\"x\n\ny\",1\n\"p\r\nq\",2\n3,4\n");
  EXPECT_THAT(table.lines, ElementsAre(2, 5, 7));
  EXPECT_EQ(CellText(table, 0, 0), "x\n\ny");
  EXPECT_EQ(CellText(table, 1, 0), "p\r\nq");
}

TEST(Csv, AHeaderAloneIsATableWithoutRows) {
  EXPECT_TRUE(Parsed("a,b\n").rows.empty());
  EXPECT_TRUE(Parsed("a").rows.empty());
}

TEST(Csv, RefusesTheWrongNumberOfCellsWithItsLine) {
  EXPECT_THAT(Refusal("a,b\n1,2\n\"x\ny\",2,3\n"),
              StartsWith("data.csv:3: the row has 3 cells and the header names 2 columns"));
  EXPECT_THAT(Refusal("a,b\n1\n"), HasSubstr(":2: the row has 1 cells"));
  EXPECT_THAT(Refusal("a,b\n1,2,"), HasSubstr("the row has 3 cells"));
}

TEST(Csv, RefusesQuotesOutOfPlace) {
  EXPECT_THAT(Refusal("a,b\n1,2\n3,\"open\n5,6\n"),
              StartsWith("data.csv:3: the quote that opens here is never closed"));
  EXPECT_THAT(Refusal("a,b\n1,\""), HasSubstr(":2: the quote that opens here"));
  EXPECT_THAT(Refusal("a,b\n12\",2\n"), HasSubstr(":2: a quote in the middle"));
  EXPECT_THAT(Refusal("a,b\n\"1\n\"x,2\n"), HasSubstr(":3: text after the closing quote"));
}

TEST(Csv, RefusesEmptyLinesAndLoneCarriageReturns) {
  EXPECT_THAT(Refusal("a,b\n1,2\n\n"), StartsWith("data.csv:3: the line is empty"));
  EXPECT_THAT(Refusal("a\n\r\n1\n"), HasSubstr(":2: the line is empty"));
  EXPECT_THAT(Refusal("a,b\n1\r2,3\n"), HasSubstr(":2: a carriage return without a line feed"));
  EXPECT_THAT(Refusal(""), StartsWith("data.csv:1: the file is empty"));
  EXPECT_THAT(Refusal("\xEF\xBB\xBF"), HasSubstr("the file is empty"));
}

TEST(Csv, RefusesHeadersThatAreEmptyOrTwice) {
  EXPECT_THAT(Refusal("a,,b\n"), StartsWith("data.csv:1: column 2 has no name"));
  EXPECT_THAT(Refusal("a,b,c,b\n"), HasSubstr("columns 2 and 4 are both named \"b\""));
}

TEST(Csv, ColumnsAreFoundByNameAndTheNearestIsOffered) {
  const CsvTable table = Parsed("model,tflops\n");
  EXPECT_EQ(Column(table, "tflops").value(), 1);
  const absl::Status missing = Column(table, "tflop").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(),
            "data.csv:1: there is no column \"tflop\"; did you mean 'tflops'? (columns: model, "
            "tflops)");
}

TEST(Csv, NumbersAreReadOrAbsent) {
  const CsvTable table = Parsed("x,y\n-1.5e3,-9223372036854775808\n,\n0,9223372036854775807\n");
  EXPECT_EQ(CellDouble(table, 0, 0).value(), std::optional<double>(-1500.0));
  EXPECT_EQ(CellInteger(table, 0, 1).value(),
            std::optional<int64_t>(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(CellDouble(table, 1, 0).value(), std::nullopt);
  EXPECT_EQ(CellInteger(table, 1, 1).value(), std::nullopt);
  EXPECT_EQ(CellInteger(table, 2, 1).value(),
            std::optional<int64_t>(std::numeric_limits<int64_t>::max()));
}

TEST(Csv, WhatIsNotOneFiniteNumberIsRefusedWithItsPlace) {
  for (const char* text : {"12x", " 1", "1 ", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "+1"}) {
    CsvTable table = Parsed("name,tflops\na,1\n");
    table.rows[0][1] = text;
    const absl::Status status = CellDouble(table, 0, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), StartsWith("data.csv:2: column \"tflops\": \""));
    EXPECT_FALSE(CellInteger(table, 0, 1).ok()) << text;
  }
}

TEST(Csv, IntegersHaveNoFractionAndFitIn64Bits) {
  const CsvTable table = Parsed("n\n1.5\n9223372036854775808\n1e3\n");
  EXPECT_THAT(std::string(CellInteger(table, 0, 0).status().message()),
              HasSubstr("\"1.5\" is not a whole number"));
  EXPECT_THAT(std::string(CellInteger(table, 1, 0).status().message()),
              HasSubstr("data.csv:3: column \"n\": \"9223372036854775808\" does not fit"));
  EXPECT_FALSE(CellInteger(table, 2, 0).ok());
}

TEST(Csv, ATableBuiltInMemoryNamesItsRow) {
  const CsvTable table{.header = {"n"}, .rows = {{"1"}, {"x"}}};
  EXPECT_THAT(std::string(CellDouble(table, 1, 0).status().message()), StartsWith("table row 2: "));
}

TEST(Csv, WritesQuotesOnlyWhereNeeded) {
  EXPECT_EQ(WriteCsv({.header = {"a", "b"}, .rows = {{"1 2", "x,y"}, {"", "\""}}}),
            "a,b\n1 2,\"x,y\"\n,\"\"\"\"\n");
  EXPECT_EQ(WriteCsv({.header = {"a"}, .rows = {{""}}}), "a\n\"\"\n");
}

std::string AnyCell() {
  std::string cell;
  const int length = *rc::gen::inRange(0, 6);
  for (int i = 0; i < length; ++i) {
    cell += *rc::gen::element<std::string>("a", "7", " ", ",", "\"", "\n", "\r", "\r\n", "é",
                                           "\xEF\xBB\xBF", std::string(1, '\0'), "\xFF");
  }
  return cell;
}

RC_GTEST_PROP(CsvProperty, WhatIsWrittenReadsBackEqual, ()) {
  CsvTable table;
  const int columns = *rc::gen::inRange(1, 5);
  for (int column = 0; column < columns; ++column) {
    table.header.push_back(AnyCell() + std::to_string(column));
  }
  table.rows.resize(*rc::gen::inRange<size_t>(0, 6));
  for (std::vector<std::string>& row : table.rows) {
    for (int column = 0; column < columns; ++column) row.push_back(AnyCell());
  }
  const absl::StatusOr<CsvTable> read = ParseCsv("written.csv", WriteCsv(table));
  RC_ASSERT(read.ok());
  RC_ASSERT(read->header == table.header);
  RC_ASSERT(read->rows == table.rows);
  RC_ASSERT(read->lines.size() == table.rows.size());
}

RC_GTEST_PROP(CsvProperty, AnyBytesAreReadOrRefusedAndWrittenBack, ()) {
  std::string text = "a,b\n";
  const int length = *rc::gen::inRange(0, 30);
  for (int i = 0; i < length; ++i) {
    text += *rc::gen::element<std::string>("1", ",", "\"", "\n", "\r\n", "\r");
  }
  const absl::StatusOr<CsvTable> table = ParseCsv("any.csv", text);
  if (!table.ok()) {
    RC_ASSERT(table.status().message().substr(0, 8) == "any.csv:");
    return;
  }
  RC_ASSERT(ParseCsv("any.csv", WriteCsv(*table))->rows == table->rows);
}

}  // namespace
}  // namespace horizon
