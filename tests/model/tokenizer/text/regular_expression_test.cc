#include "model/tokenizer/text/regular_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/text/str_cat.h"
#include "model/tokenizer/text/translate_expression.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

std::optional<std::string> FirstMatch(const std::string& expression, const std::string& text,
                                      size_t from = 0) {
  const absl::StatusOr<RegularExpression> compiled = RegularExpression::Compile(expression);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  MatchMemory memory;
  const auto match = compiled->Find(text, from, memory);
  EXPECT_TRUE(match.ok()) << match.status();
  if (!match.ok() || !match->has_value()) return std::nullopt;
  return text.substr((*match)->begin, (*match)->end - (*match)->begin);
}

TEST(RegularExpression, MatchesAsOnigurumaWhereTheTwoDiffer) {
  EXPECT_EQ(FirstMatch("\\s", "a\u180eb"), std::nullopt);
  EXPECT_EQ(FirstMatch("\\s", "a\u0085b"), "\u0085");
  EXPECT_EQ(FirstMatch("[\\s]+", "a \u3000b"), " \u3000");
  EXPECT_EQ(FirstMatch("\\S+", " \u180ea "), "\u180ea");
  EXPECT_EQ(FirstMatch("\\w+", "x\u0301\u203f9-"), "x\u0301\u203f9");
  EXPECT_EQ(FirstMatch("\\w+", "\u00bd"), "\u00bd");
  EXPECT_EQ(FirstMatch("[\\w]+", "\u00bd"), std::nullopt);
  EXPECT_EQ(FirstMatch("\\h+", " \txyzab09g"), "ab09");
  EXPECT_EQ(FirstMatch("\\p{Han}", "\u3001"), std::nullopt);  // only its script extension is Han
  EXPECT_EQ(FirstMatch("\\u4f60", "\u4f60"), "\u4f60");
  EXPECT_EQ(FirstMatch("^b$", "a\nb\nc"), "b");
  EXPECT_EQ(FirstMatch(".+", "\n\rb\n"), "\rb");
  EXPECT_EQ(FirstMatch("(?i:'s)", "'\u017f"), "'\u017f");
  EXPECT_EQ(FirstMatch("e\\b", "e\u0301 e"), "e");
}

TEST(RegularExpression, BeginsWhereItIsToldAndLooksBehind) {
  EXPECT_EQ(FirstMatch("b", "abab", 2), "b");
  EXPECT_EQ(FirstMatch("(?<=a)b", "ab", 1), "b");
  EXPECT_EQ(FirstMatch("^b", "ab", 1), std::nullopt);
  EXPECT_EQ(FirstMatch("x", "x", 1), std::nullopt);
  EXPECT_EQ(FirstMatch("", "", 0), "");
}

TEST(RegularExpression, RefusesByNameWhatTheTwoReadDifferently) {
  for (const std::string expression :
       {"\\p{N}{1,3}+", "[a&&b]", "[a[b]]", "[[:alpha:]]", "(?m)a", "(?s:a)", "(?im-x:a)", "[\\W]",
        "[\\H]", "[]a]", "[^]]", "[a", "a\\", "\\p", "\\pL", "\\p{L", "\\u12", "\\u12g4"}) {
    const absl::Status status = RegularExpression::Compile(expression).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << expression;
    EXPECT_THAT(std::string(status.message()), HasSubstr("regular expression")) << expression;
  }
  for (const std::string expression : {"(a", "a)", "*", "\\p{Nobody}", "(?<=a+)b", "\\C"}) {
    const absl::Status status = RegularExpression::Compile(expression).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << expression;
  }
  EXPECT_FALSE(RegularExpression::Compile(std::string(100'000, 'a')).ok());
  EXPECT_FALSE(RegularExpression::Compile(std::string(50'000, '(')).ok());
}

TEST(RegularExpression, LeavesTheRestAsItIs) {
  for (const std::string expression :
       {"(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+", "(?=a)(?!b)(?<=c)(?<!d)(?:e)(?>f)", "a{1,3}?",
        "[\\[\\]\\-^]", "\\\\s", "(?<name>a)", "\\p{Lu}\\P{N}"}) {
    const absl::StatusOr<std::string> translated = TranslateExpression(expression);
    ASSERT_TRUE(translated.ok()) << translated.status();
    EXPECT_EQ(*translated, expression);
  }
}

// Each of these takes for ever, or all memory, without a limit.
TEST(RegularExpression, GivesUpWithAnError) {
  for (const std::string expression : {"(a+)+$x", "(a|aa)+$x", "(?:a?){40}a{40}x", "((a*)*)*b"}) {
    const absl::StatusOr<RegularExpression> compiled = RegularExpression::Compile(expression);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    MatchMemory memory;
    const auto match = compiled->Find(std::string(50, 'a') + "c", 0, memory);
    // PCRE2 sees for some that there can be no match.
    if (match.ok()) {
      EXPECT_FALSE(match->has_value()) << expression;
    } else {
      EXPECT_EQ(match.status().code(), absl::StatusCode::kResourceExhausted) << match.status();
    }
  }
  const absl::StatusOr<RegularExpression> hostile = RegularExpression::Compile("(a+)+$x|(x+x+)+y");
  ASSERT_TRUE(hostile.ok());
  MatchMemory memory;
  EXPECT_FALSE(hostile->Find(std::string(60, 'x'), 0, memory).ok());
}

TEST(RegularExpression, RunsOverAMegabyte) {
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(FirstMatch("[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\s+", text)->size(), text.size());
  EXPECT_EQ(FirstMatch(" ?[^\\s\\p{L}]+[\\r\\n]*", std::string(1 << 20, '!'))->size(), 1 << 20);
  EXPECT_EQ(FirstMatch("\\s+(?!\\S)|\\s+", std::string(1 << 20, ' ') + "x")->size(), (1 << 20) - 1);
}

}  // namespace
}  // namespace horizon
