#include "runtime/data/token_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr TokenLimits kLimits = {.sequence = 4, .vocab = 10};

std::string ErrorOf(std::string_view text, const TokenLimits& limits = kLimits) {
  TokenLine line;
  return std::string(ParseTokenLine(text, limits, line).message());
}

TEST(TokenLine, ReadsIdsAndLabels) {
  TokenLine line;
  ASSERT_TRUE(
      ParseTokenLine(R"( {"labels": [-100, 0, -1, 9], "input_ids":[0,1,2 , 9]} )", kLimits, line)
          .ok());
  EXPECT_THAT(line.ids, ElementsAre(0, 1, 2, 9));
  EXPECT_THAT(line.labels, ElementsAre(-100, 0, -100, 9));
}

TEST(TokenLine, MissingLabelsAreTheIds) {
  TokenLine line;
  ASSERT_TRUE(ParseTokenLine(R"({"input_ids": [3]})", kLimits, line).ok());
  EXPECT_THAT(line.ids, ElementsAre(3));
  EXPECT_THAT(line.labels, ElementsAre(3));
}

TEST(TokenLine, TheLineBeforeLeavesNothingBehind) {
  TokenLine line;
  ASSERT_TRUE(ParseTokenLine(R"({"input_ids": [1, 2], "labels": [3, 4]})", kLimits, line).ok());
  ASSERT_TRUE(ParseTokenLine(R"({"input_ids": [5]})", kLimits, line).ok());
  EXPECT_THAT(line.ids, ElementsAre(5));
  EXPECT_THAT(line.labels, ElementsAre(5));
  ASSERT_TRUE(ParseTokenLine(R"({"input_ids": [6], "labels": [7]})", kLimits, line).ok());
  EXPECT_THAT(line.ids, ElementsAre(6));
  EXPECT_THAT(line.labels, ElementsAre(7));
}

TEST(TokenLine, TheLargestVocabularyFits) {
  constexpr int64_t kVocab = std::numeric_limits<int32_t>::max();
  TokenLine line;
  ASSERT_TRUE(
      ParseTokenLine(StrCat(R"({"input_ids": [)", kVocab - 1, "]}"), {1, kVocab}, line).ok());
  EXPECT_THAT(line.ids, ElementsAre(kVocab - 1));
}

TEST(TokenLine, SaysWhatIsWrongWithATokenAndWhichItIs) {
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 10]})"),
              HasSubstr("input_ids[1] is 10; the model's vocabulary has the ids 0 to 9"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [-1]})"), HasSubstr("input_ids[0] is -1"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1], "labels": [10]})"), HasSubstr("labels[0] is 10"));
  for (const std::string_view number : {"1.0", "1e0", "9223372036854775808", "1e400"}) {
    EXPECT_THAT(ErrorOf(StrCat(R"({"input_ids": [)", number, "]}")), HasSubstr("input_ids[0] is"))
        << number;
  }
  // As a 32-bit number it would be 1.
  EXPECT_THAT(ErrorOf(R"({"input_ids": [4294967297]})"), HasSubstr("is 4294967297"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1], "labels": [-9223372036854775809]})"),
              HasSubstr("labels[0]"));
}

TEST(TokenLine, SaysBothLengths) {
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "labels": [1]})"),
              HasSubstr("input_ids has 2 tokens and labels has 1"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "labels": []})"),
              HasSubstr("input_ids has 2 tokens and labels has 0"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2, 3, 4, 5]})"),
              HasSubstr("has 5 tokens, more than the sequence of 4"));
}

TEST(TokenLine, ALineOfTooManyTokensTakesNoMemoryForThem) {
  std::string text = R"({"input_ids": [1)";
  for (int i = 0; i < 1'000'000; ++i) text += ",1";
  TokenLine line;
  const absl::Status status = ParseTokenLine(text + "]}", kLimits, line);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 1000001 tokens"));
  EXPECT_LE(line.ids.capacity(), 8u);
}

TEST(TokenLine, RefusesWhatIsNotOneObjectOfArrays) {
  for (const std::string_view text : {"",
                                      " ",
                                      "\r",
                                      "{}",
                                      "[]",
                                      "[1]",
                                      "1",
                                      "\"input_ids\"",
                                      "null",
                                      "true",
                                      R"({"labels": [1]})",
                                      R"({"input_ids": []})",
                                      R"({"input_ids": 1})",
                                      R"({"input_ids": null})",
                                      R"({"input_ids": true})",
                                      R"({"input_ids": "1"})",
                                      R"({"input_ids": {}})",
                                      R"({"input_ids": [[1]]})",
                                      R"({"input_ids": [{}]})",
                                      R"({"input_ids": [1, {}]})",
                                      R"({"input_ids": [1, []]})",
                                      R"({"input_ids": [null]})",
                                      R"({"input_ids": ["1"]})",
                                      R"({"input_ids": [true]})",
                                      R"({"input_ids": [1], "labels": null})",
                                      R"({"input_ids": [1], "text": "a"})",
                                      R"({"input_ids": [1], "input_ids": [1]})",
                                      R"({"input_ids": [1], "labels": [1], "labels": [1]})",
                                      R"({"input_ids": [1]} {})",
                                      R"({"input_ids": [1]}{"input_ids": [1]})",
                                      R"({"input_ids": [1],})",
                                      R"({"input_ids": [1)",
                                      R"({"input_ids": [01]})",
                                      R"({"input_ids": [NaN]})",
                                      "\xef\xbb\xbf{}",
                                      "{\"input_ids\": [1]}\xff"}) {
    TokenLine line;
    const absl::Status status = ParseTokenLine(text, kLimits, line);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_FALSE(status.message().empty());
    // The file and the line are the caller's to say.
    EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("line:1"))) << text;
  }
}

TEST(TokenLine, NamesTheKeyItDoesNotKnow) {
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1], "assistant_masks": [1]})"),
              HasSubstr("assistant_masks"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1], "input_ids": [1]})"), HasSubstr("input_ids stands"));
}

TEST(TokenLine, DeepNestingIsRefusedWithoutRecursion) {
  EXPECT_FALSE(ErrorOf(std::string(1'000'000, '[')).empty());
  EXPECT_FALSE(ErrorOf(R"({"input_ids": )" + std::string(1'000'000, '[')).empty());
}

TEST(TokenLine, PaddingThatTheMaskNamesIsCutAway) {
  TokenLine line;
  const auto read = [&](std::string_view text) {
    const absl::Status status = ParseTokenLine(text, kLimits, line);
    EXPECT_TRUE(status.ok()) << status;
  };
  read(R"({"input_ids": [1, 2, 0, 0, 0], "attention_mask": [1, 1, 0, 0, 0]})");
  EXPECT_THAT(line.ids, ElementsAre(1, 2));
  EXPECT_THAT(line.labels, ElementsAre(1, 2));
  read(R"({"attention_mask": [0, 0, 1, 1, 1, 1], "labels": [-100, -100, -100, 2, 3, 4],
           "input_ids": [0, 0, 1, 2, 3, 4]})");
  EXPECT_THAT(line.ids, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(line.labels, ElementsAre(-100, 2, 3, 4));
  read(R"({"input_ids": [-1, 5, 99], "attention_mask": [0, 1, 0]})");
  EXPECT_THAT(line.ids, ElementsAre(5));
  read(R"({"input_ids": [5, 6], "attention_mask": [1, 1]})");
  EXPECT_THAT(line.ids, ElementsAre(5, 6));
}

TEST(TokenLine, AMaskThatIsNoBlockOfOnesIsRefusedByItsPlace) {
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2, 3], "attention_mask": [1, 0, 1]})"),
              HasSubstr("attention_mask[1] is 0 between ones"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "attention_mask": [1, 2]})"),
              HasSubstr("attention_mask[1] is 2; it must be 0 or 1"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "attention_mask": [0, 0]})"),
              HasSubstr("attention_mask has no 1"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "attention_mask": [1]})"),
              HasSubstr("input_ids has 2 tokens and attention_mask has 1"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "attention_mask": []})"), HasSubstr("has 0"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2], "labels": [1], "attention_mask": [1, 0]})"),
              HasSubstr("labels has 1"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1], "attention_mask": [true]})"),
              HasSubstr("attention_mask holds true or false"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1], "attention_mask": [1], "attention_mask": [1]})"),
              HasSubstr("twice"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [1, 2, 3, 4, 5], "attention_mask": [1, 1, 1, 1, 1]})"),
              HasSubstr("the sample has 5 tokens, more than the sequence of 4"));
  EXPECT_THAT(ErrorOf(R"({"input_ids": [99, 1], "attention_mask": [1, 0]})"),
              HasSubstr("input_ids[0] is 99"));
}

}  // namespace
}  // namespace horizon
