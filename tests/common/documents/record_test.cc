// A record with a field of every kind: read, written and documented from one list.
#include "common/documents/record.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/status_macros.h"

namespace horizon {
namespace {

enum class Colour { kRed, kBlue };
constexpr EnumWord<Colour> kColours[] = {{Colour::kRed, "red"}, {Colour::kBlue, "blue"}};
std::span<const EnumWord<Colour>> WordsOf(Colour) { return kColours; }

struct Sample {
  std::string name = "x";
  int64_t count = 3;
  uint64_t big = 4;
  double share = 0.5;
  bool on = true;
  Bytes size = 2_MiB;
  Colour colour = Colour::kBlue;
  friend bool operator==(const Sample&, const Sample&) = default;
};

template <typename Record, typename Visitor>
void VisitFields(Record& sample, Visitor& visit) {
  visit("name", sample.name, {.presence = FieldPresence::kRequired, .help = "what it is called"});
  visit("count", sample.count, {.unit = "pieces", .minimum = -2, .maximum = 9, .help = "how many"});
  visit("big", sample.big, {.help = "no range"});
  visit("share", sample.share, {.minimum = 0, .maximum = 1, .help = "of the whole"});
  visit("on", sample.on, {.help = "a switch"});
  visit("size", sample.size, {.unit = "bytes", .minimum = 1024, .help = "room"});
  visit("colour", sample.colour, {.help = "a choice"});
}

absl::StatusOr<Sample> Read(std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson("sample.json", text));
  Sample sample;
  ObjectReader reader(document, document.root);
  RecordReader visit(reader);
  VisitFields(sample, visit);
  RETURN_IF_ERROR(reader.Finish());
  return sample;
}

std::string Write(const Sample& sample) {
  JsonWriter writer(JsonWriter::Style::kOneLine);
  writer.BeginObject();
  RecordWriter visit(writer);
  VisitFields(sample, visit);
  writer.EndObject();
  return std::move(writer).Finish();
}

std::string ErrorOf(std::string_view text) { return std::string(Read(text).status().message()); }

TEST(Record, MissingFieldsKeepTheirDefaults) {
  const absl::StatusOr<Sample> sample = Read(R"({"name": "n"})");
  ASSERT_TRUE(sample.ok()) << sample.status();
  Sample expected;
  expected.name = "n";
  EXPECT_EQ(*sample, expected);
}

TEST(Record, EveryKindOfFieldIsRead) {
  const absl::StatusOr<Sample> sample = Read(
      R"({"colour": "red", "size": "3 KiB", "on": false, "share": 1, "big": 7, "count": -2,
          "name": "all"})");
  ASSERT_TRUE(sample.ok()) << sample.status();
  const Sample expected{.name = "all",
                        .count = -2,
                        .big = 7,
                        .share = 1.0,
                        .on = false,
                        .size = 3_KiB,
                        .colour = Colour::kRed};
  EXPECT_EQ(*sample, expected);
}

TEST(Record, WritesEveryFieldInOrderAndBytesAsIntegers) {
  EXPECT_EQ(Write({}),
            R"({"name": "x", "count": 3, "big": 4, "share": 0.5, "on": true, "size": 2097152, )"
            R"("colour": "blue"})");
}

TEST(Record, WhatIsWrittenIsReadBack) {
  Sample sample{.name = "quo\"te\n",
                .count = 9,
                .big = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
                .share = 0.1 + 0.2 - 0.3,
                .on = false,
                .size = Bytes(CheckedU64(uint64_t{1} << 62)),
                .colour = Colour::kRed};
  const absl::StatusOr<Sample> again = Read(Write(sample));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, sample);
}

TEST(Record, RangesAreInclusiveAndToldWithTheUnit) {
  EXPECT_TRUE(Read(R"({"name": "", "count": 9})").ok());
  EXPECT_EQ(ErrorOf("{\"name\": \"\",\n\"count\": 10}"),
            "sample.json:2: count: needs a value from -2 to 9 pieces, found 10");
  EXPECT_EQ(ErrorOf("{\"name\": \"\",\n\"count\": -3}"),
            "sample.json:2: count: needs a value from -2 to 9 pieces, found -3");
  EXPECT_EQ(ErrorOf(R"({"name": "", "share": 1.0000000000000002})"),
            "sample.json:1: share: needs a value from 0 to 1, found 1.0000000000000002");
  EXPECT_TRUE(Read(R"({"name": "", "size": 1024})").ok());
  EXPECT_NE(ErrorOf(R"({"name": "", "size": "1023 B"})").find("found 1023"), std::string::npos);
}

TEST(Record, RequiredFieldsAreMissed) {
  EXPECT_EQ(ErrorOf("{}"), "sample.json:1: name: required and missing");
  EXPECT_NE(ErrorOf(R"({"nam": "n"})").find("did you mean 'name'"), std::string::npos);
}

TEST(Record, TheFirstErrorIsTold) {
  EXPECT_EQ(ErrorOf("{\"name\": \"\",\n\"colour\": \"rad\",\n\"count\": true}"),
            "sample.json:3: count: needs an integer, found true");
  EXPECT_EQ(ErrorOf("{\"name\": \"\",\n\"colour\": \"rad\"}"),
            "sample.json:2: colour: needs one of red|blue, found 'rad'; did you mean 'red'?");
  EXPECT_EQ(ErrorOf(R"({"name": "", "colour": 1})"),
            "sample.json:1: colour: needs a string, found an integer 1");
}

TEST(Record, UnknownFieldsAreRefused) {
  EXPECT_EQ(ErrorOf(R"({"name": "", "color": "red"})"),
            "sample.json:1: unknown key \"color\"; did you mean 'colour'?");
}

TEST(Record, TheTableHasEveryFieldOnce) {
  RecordTable table;
  const Sample sample;
  VisitFields(sample, table);
  EXPECT_EQ(table.text(),
            "| field | unit and range, or choices | default | meaning |\n"
            "|---|---|---|---|\n"
            "| `name` |  | required | what it is called |\n"
            "| `count` | pieces, -2 to 9 | 3 | how many |\n"
            "| `big` |  | 4 | no range |\n"
            "| `share` | 0 to 1 | 0.5 | of the whole |\n"
            "| `on` | `true`, `false` | true | a switch |\n"
            "| `size` | bytes, at least 1024 | 2 MiB | room |\n"
            "| `colour` | `red`, `blue` | blue | a choice |\n");
}

// A record made in code is held to the same ranges as one read from a file.
TEST(Record, TheCheckerNamesTheFirstFieldOutOfRange) {
  const auto check = [](const Sample& sample) {
    RecordChecker visit;
    VisitFields(sample, visit);
    return visit.status();
  };
  EXPECT_TRUE(check({}).ok());
  EXPECT_TRUE(check({.count = -2, .share = 1.0, .size = 1_KiB}).ok());
  EXPECT_EQ(check({.count = 10, .share = 2.0}).message(),
            "count: needs a value from -2 to 9 pieces, found 10");
  EXPECT_EQ(check({.share = -0.5}).message(), "share: needs a value from 0 to 1, found -0.5");
  EXPECT_TRUE(absl::IsInvalidArgument(check({.size = 1023_B})));
}

}  // namespace
}  // namespace horizon
