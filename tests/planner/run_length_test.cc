#include "planner/run_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/documents/json.h"

namespace horizon {
namespace {

using testing::HasSubstr;

TEST(ParseTokens, TakesNumbersWithAndWithoutSuffix) {
  struct Case {
    const char* text;
    double tokens;
  };
  for (const Case& one :
       {Case{"1", 1}, Case{"250000", 250000}, Case{"10M", 1e7}, Case{"1.5B", 1.5e9},
        Case{"1.5G", 1.5e9}, Case{"3k", 3000}, Case{"3K", 3000}, Case{"15T", 1.5e13},
        Case{"2e9", 2e9}, Case{"0.5k", 500}}) {
    const absl::StatusOr<double> tokens = ParseTokens(one.text);
    ASSERT_TRUE(tokens.ok()) << one.text;
    EXPECT_DOUBLE_EQ(*tokens, one.tokens) << one.text;
  }
}

TEST(ParseTokens, RefusesWhatIsNoNumberOfTokens) {
  for (const char* text :
       {"", "M", "ten", "10m", "10MB", "-5", "0", "0.2", "nan", "inf", "1e30T", "10 M tokens"}) {
    const absl::StatusOr<double> tokens = ParseTokens(text);
    EXPECT_EQ(tokens.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(tokens.status().message()), HasSubstr("such as 10M")) << text;
  }
}

TEST(TokensText, ReadsBackToTheSameNumber) {
  for (const double tokens : {1.0, 999.0, 1000.0, 1234567.0, 1.5e9, 1e9, 1e13, 250000.0}) {
    EXPECT_DOUBLE_EQ(ParseTokens(TokensText(tokens)).value_or(0), tokens) << TokensText(tokens);
  }
  EXPECT_EQ(TokensText(1e7), "10M");
  EXPECT_EQ(TokensText(1e9), "1B");
  EXPECT_EQ(TokensText(1234567), "1234567");
}

// 10^7 tokens at 500 a second: 20,000 s are 5.56 hours, at 2.5 an hour 13.9.
TEST(RunLength, TurnsSpeedIntoTimeAndMoney) {
  const RunLength length{.tokens = 1e7, .price_per_hour = 2.5};
  EXPECT_DOUBLE_EQ(length.seconds(500), 20000);
  EXPECT_DOUBLE_EQ(*length.price(500), 20000.0 / 3600 * 2.5);
  EXPECT_EQ(RunLengthText(length, 500), "5.56 hours for 10M tokens, 13.9 at 2.5 an hour");
  EXPECT_EQ(RunLengthText({}, 500), "23.1 days for 1B tokens");
  EXPECT_EQ(RunLength{}.price(500), std::nullopt);
}

// 46 steps of 2 x 2 x 64 tokens at 500 a second: 11,776 / 500 = 23.6 s.
TEST(RunLength, OfDataSaysItsSteps) {
  const RunLength length{.tokens = 46 * 256,
                         .data = RunData{.epochs = 3, .samples = 1091, .rows = 183, .steps = 46}};
  EXPECT_DOUBLE_EQ(length.seconds(500), 23.552);
  EXPECT_EQ(RunLengthText(length, 500),
            "23.6 seconds for 46 steps (3 epochs of 1,091 samples in 183 rows)");
  EXPECT_EQ(RunLengthTitle(length), "3 epochs of 1,091 samples");
  EXPECT_EQ(RunLengthTitle({.tokens = 1e7}), "10M tokens");
  EXPECT_EQ(RunLengthTitle({}), "1B tokens");
  const RunLength one{.tokens = 64,
                      .data = RunData{.epochs = 1, .samples = 1, .rows = 1, .steps = 1}};
  EXPECT_EQ(RunLengthText(one, 64), "1 seconds for 1 step (1 epoch of 1 sample in 1 row)");
}

TEST(RunDurationText, ChoosesTheUnitByTheSize) {
  EXPECT_EQ(RunDurationText(30), "30 seconds");
  EXPECT_EQ(RunDurationText(90), "1.5 minutes");
  EXPECT_EQ(RunDurationText(2 * 3600), "2 hours");
  EXPECT_EQ(RunDurationText(48 * 3600), "2 days");
}

TEST(RunLength, IsInJsonOnlyWhereItWasAskedFor) {
  const auto written = [](const RunLength& length) {
    JsonWriter writer;
    writer.BeginObject();
    WriteRunLength(length, 500, writer);
    writer.EndObject();
    const absl::StatusOr<Document> document = ParseJson("run", std::move(writer).Finish());
    EXPECT_TRUE(document.ok());
    return *document;
  };
  EXPECT_EQ(written({}).root.Find("run"), nullptr);
  const Document priced = written({.price_per_hour = 3.6});
  const Value* const run = priced.root.Find("run");
  ASSERT_NE(run, nullptr);
  EXPECT_NE(run->Find("price"), nullptr);
  const Document timed = written({.tokens = 1000});
  ASSERT_NE(timed.root.Find("run"), nullptr);
  EXPECT_EQ(timed.root.Find("run")->Find("price"), nullptr);
  EXPECT_EQ(timed.root.Find("run")->Find("steps"), nullptr);
  const Document counted =
      written({.tokens = 256, .data = RunData{.epochs = 2, .samples = 5, .rows = 3, .steps = 1}});
  ASSERT_NE(counted.root.Find("run"), nullptr);
  for (const auto& [key, value] :
       std::map<std::string, int64_t>{{"epochs", 2}, {"samples", 5}, {"rows", 3}, {"steps", 1}}) {
    EXPECT_EQ(*counted.root.Find("run")->Find(key)->As<int64_t>(), value) << key;
  }
}

}  // namespace
}  // namespace horizon
