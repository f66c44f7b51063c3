#include "app/answers/answer_match.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace horizon {
namespace {

TEST(AnswerMatch, WhiteSpaceAtTheEndsDoesNotCount) {
  EXPECT_TRUE(SameText(" 42\n", "42"));
  EXPECT_TRUE(SameText("", " \t\n"));
  EXPECT_TRUE(SameText("two words", "two words"));
  EXPECT_FALSE(SameText("two  words", "two words"));
  EXPECT_FALSE(SameText("42.", "42"));
  EXPECT_FALSE(SameText("", "42"));
}

TEST(AnswerMatch, ReasoningBeforeAnAnswerDoesNotCount) {
  EXPECT_TRUE(SameText("<think>\n\n</think>\n\n42", "42"));
  EXPECT_TRUE(SameText("<think>40 + 2</think> 42", "<think>\n\n</think>\n\n42"));
  EXPECT_FALSE(SameText("<think>42</think> 41", "42"));
  EXPECT_FALSE(SameText("<think>42", "42"));
  EXPECT_FALSE(SameText("42 <think></think>", "42"));
}

TEST(AnswerMatch, TheLastNumberIsFound) {
  for (const auto& [text, number] : {std::pair<const char*, double>{"42", 42},
                                     {"#### 1,234", 1234},
                                     {"The answer is: 7.", 7},
                                     {"3 + 4 = 7", 7},
                                     {"it costs $1,234,567.50 in all", 1234567.5},
                                     {"-5", -5},
                                     {"x = -0.25!", -0.25},
                                     {"10-3", 3},
                                     {"room b-3", 3},
                                     {"1.2.3", 2.3},
                                     {"1,23", 23},
                                     {"12,3456", 3456},
                                     {"0", 0},
                                     {"5,000 and .5", 5},
                                     {"9,999.", 9999},
                                     {"x,123", 123},
                                     {"\xE2\x82\xAC"
                                      "15",
                                      15}}) {
    ASSERT_TRUE(LastNumber(text).has_value()) << text;
    EXPECT_EQ(*LastNumber(text), number) << text;
  }
  for (const char* text : {"", "none", ".", "-", "1.", ","}) {
    EXPECT_EQ(LastNumber(text).has_value(), std::string(text) == "1.") << text;
  }
  // As long as anything.
  EXPECT_TRUE(LastNumber(std::string(5000, '9')).has_value());
}

}  // namespace
}  // namespace horizon
