#include "common/documents/enum_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace horizon {
namespace {

enum class Fruit { kApple, kPear, kQuince, kUnnamed };
constexpr EnumWord<Fruit> kFruits[] = {
    {Fruit::kPear, "pear"}, {Fruit::kApple, "apple"}, {Fruit::kQuince, "quince"}};
std::span<const EnumWord<Fruit>> WordsOf(Fruit) { return kFruits; }

enum class Wordless { kNothing };

static_assert(HasWords<Fruit>);
static_assert(!HasWords<Wordless>);
static_assert(!HasWords<int>);
static_assert(!HasWords<bool>);

TEST(EnumWords, EveryWordPrintsAndParsesBack) {
  for (const EnumWord<Fruit>& entry : kFruits) {
    EXPECT_EQ(ToString(entry.value), entry.word);
    const absl::StatusOr<Fruit> parsed = ParseWord<Fruit>(entry.word);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, entry.value);
  }
}

TEST(EnumWords, ListsWordsInDeclarationOrder) {
  EXPECT_EQ(AllWords<Fruit>(), (std::vector<std::string>{"pear", "apple", "quince"}));
  EXPECT_EQ(WordChoices<Fruit>(), "pear|apple|quince");
}

TEST(EnumWords, AWrongWordNamesTheChoicesAndTheNearest) {
  const absl::StatusOr<Fruit> parsed = ParseWord<Fruit>("aple");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(parsed.status().message(),
            "needs one of pear|apple|quince, found 'aple'; did you mean 'apple'?");
}

TEST(EnumWords, OnlyTheExactWordIsMeant) {
  for (const std::string_view text : {"", "Pear", "pear ", " pear", "pea", "pears", "PEAR"}) {
    EXPECT_EQ(ParseWord<Fruit>(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseWord<Fruit>("zzz").status().message(),
            "needs one of pear|apple|quince, found 'zzz'");
}

TEST(EnumWords, AValueWithoutAWordIsShownAsAQuestion) { EXPECT_EQ(ToString(Fruit::kUnnamed), "?"); }

}  // namespace
}  // namespace horizon
