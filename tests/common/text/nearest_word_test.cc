#include "common/text/nearest_word.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace horizon {
namespace {

const std::vector<std::string>& Commands() {
  static const auto* const kWords =
      new std::vector<std::string>{"plan", "model", "schedule", "help", "train", "buffer_depth"};
  return *kWords;
}

TEST(NearestWord, FindsOneWrongMissingExtraOrSwappedLetter) {
  EXPECT_EQ(NearestWord("plam", Commands()), "plan");
  EXPECT_EQ(NearestWord("mode", Commands()), "model");
  EXPECT_EQ(NearestWord("schedulle", Commands()), "schedule");
  EXPECT_EQ(NearestWord("tarin", Commands()), "train");
  EXPECT_EQ(NearestWord("buffre_dpeth", Commands()), "buffer_depth");
}

// "hlep" is two replacements but one swap away, and four letters allow one.
TEST(NearestWord, ASwapCountsOne) {
  EXPECT_EQ(NearestWord("hlep", Commands()), "help");
  EXPECT_EQ(NearestWord("hxxp", Commands()), "");
}

TEST(NearestWord, AllowsAThirdOfTheLongerWordAndNoMore) {
  const std::vector<std::string> known = {"abcdef"};
  EXPECT_EQ(NearestWord("abcdxy", known), "abcdef");
  EXPECT_EQ(NearestWord("abcxyz", known), "");
  EXPECT_EQ(NearestWord("abcdefxyz", known), "abcdef");  // 3 of 9
  EXPECT_EQ(NearestWord("abcdefwxyz", known), "");       // 4 of 10
}

TEST(NearestWord, PrefersTheNearestAndThenTheFirst) {
  EXPECT_EQ(NearestWord("plans", std::vector<std::string>{"plank", "plan", "plans"}), "plans");
  EXPECT_EQ(NearestWord("beta3", std::vector<std::string>{"beta1", "beta2"}), "beta1");
}

TEST(NearestWord, PrefersWordsThatBeginWithIt) {
  const std::vector<std::string> machines = {"h200", "h100-pcie", "h100-sxm", "a100-pcie"};
  EXPECT_EQ(NearestWord("h100", machines), "h100-sxm");
  EXPECT_EQ(NearestWord("h", machines), "") << "one letter says nothing";
  EXPECT_EQ(NearestWord("temp", std::vector<std::string>{"tempo", "temperature"}), "tempo");
  EXPECT_EQ(NearestWord("h200", machines), "h200");
}

TEST(NearestWord, PrefersTheSameDigitsToAnotherNumber) {
  EXPECT_EQ(NearestWord("rxt4090", std::vector<std::string>{"rtx4080", "rtx4090"}), "rtx4090");
  // One edit away, but another machine; the right number is two edits away.
  EXPECT_EQ(NearestWord("gtx3090", std::vector<std::string>{"gtx3080", "rtxx3090"}), "rtxx3090");
  EXPECT_EQ(NearestWord("qwen3-8b", std::vector<std::string>{"qwen3-4b", "qwen-3-8b"}),
            "qwen-3-8b");
}

TEST(NearestWord, EmptyAndEnormousWordsHaveNone) {
  EXPECT_EQ(NearestWord("", Commands()), "");
  EXPECT_EQ(NearestWord("a", std::vector<std::string>{""}), "");
  EXPECT_EQ(NearestWord("plan", {}), "");
  const std::string enormous(1'000'000, 'a');
  EXPECT_EQ(NearestWord(enormous, Commands()), "");
  EXPECT_EQ(NearestWord(enormous, std::vector<std::string>{enormous}), "");
  EXPECT_EQ(NearestWord("plan", std::vector<std::string>{enormous, "plane"}), "plane");
  const std::string longest(64, 'a');
  EXPECT_EQ(NearestWord(longest, std::vector<std::string>{longest}), longest);
}

TEST(DidYouMean, IsReadyToBePutBehindAMessage) {
  EXPECT_EQ(DidYouMean("plam", Commands()), "; did you mean 'plan'?");
  EXPECT_EQ(DidYouMean("xyzzy", Commands()), "");
  const std::vector<std::string> machines = {"h200", "h100-pcie", "h100-sxm", "h100-nvl"};
  EXPECT_EQ(DidYouMean("h100", machines), "; did you mean 'h100-sxm', 'h100-pcie' or 'h100-nvl'?");
  EXPECT_EQ(DidYouMean("h100-s", machines), "; did you mean 'h100-sxm'?");
}

RC_GTEST_PROP(NearestWord, UndoesOneEditOfAWordOfThreeLettersOrMore, (const std::string& tail)) {
  const std::string word = "abc" + tail.substr(0, 50);
  std::string edited = word;
  const auto at = *rc::gen::inRange<size_t>(0, word.size());
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      edited.erase(at, 1);
      break;
    case 1:
      edited.insert(at, 1, 'x');
      break;
    default:
      std::swap(edited[at], edited[(at + 1) % word.size()]);
      RC_PRE(at + 1 < word.size());
      break;
  }
  RC_ASSERT(NearestWord(edited, std::vector<std::string>{word}) == word);
}

}  // namespace
}  // namespace horizon
