#include "model/tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/philox.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;

struct Model {
  Vocabulary vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;

  Model(const std::vector<std::string>& tokens,
        std::vector<std::pair<std::string, std::string>> pairs)
      : merges(std::move(pairs)) {
    vocabulary.Reserve(tokens.size(), 100'000);
    for (const std::string& token : tokens) {
      vocabulary.Add(token, static_cast<int32_t>(vocabulary.size()));
    }
  }
  Bpe Make(const BpeOptions& options = {}) const {
    Bpe bpe(vocabulary, options);
    uint32_t rank = 0;
    for (const auto& [left, right] : merges) {
      bpe.AddMerge(*vocabulary.IdOf(left), *vocabulary.IdOf(right), rank++,
                   *vocabulary.IdOf(left + right));
    }
    return bpe;
  }
};

std::vector<int32_t> Encode(const Bpe& bpe, std::string_view word) {
  Bpe::Memory memory;
  std::vector<int32_t> ids;
  bpe.Encode(word, memory, ids);
  return ids;
}

// Numbers below a bound, the same every time.
class Numbers {
 public:
  size_t Below(size_t bound) {
    return Philox(PhiloxKeyOf(6), PhiloxCounterOf(next_++, 0))[0] % bound;
  }

 private:
  uint64_t next_ = 0;
};

// The definition, without any cleverness: look at all pairs, merge the best, start again.
std::vector<int32_t> MergeByDefinition(const Model& model, std::string_view word) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t i = 0; i < model.merges.size(); ++i) ranks[model.merges[i]] = i;
  while (true) {
    size_t best = parts.size();
    size_t best_rank = model.merges.size();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found != ranks.end() && found->second < best_rank) {
        best = i;
        best_rank = found->second;
      }
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<int32_t> ids;
  for (const std::string& part : parts) ids.push_back(*model.vocabulary.IdOf(part));
  return ids;
}

TEST(Bpe, MergesTheLowestRankFirstAndOfEqualOnesTheLeftmost) {
  const Model model({"a", "b", "c", "bc", "ab", "aa"}, {{"b", "c"}, {"a", "b"}, {"a", "a"}});
  EXPECT_THAT(Encode(model.Make(), "abc"), ElementsAre(0, 3));
  EXPECT_THAT(Encode(model.Make(), "ab"), ElementsAre(4));
  EXPECT_THAT(Encode(model.Make(), "aaa"), ElementsAre(5, 0));
  EXPECT_THAT(Encode(model.Make(), "aab"), ElementsAre(0, 4));
}

TEST(Bpe, TakesTheLastRankOfAPairGivenTwice) {
  const Model model({"a", "b", "c", "ab", "bc"}, {{"a", "b"}, {"b", "c"}, {"a", "b"}});
  EXPECT_THAT(Encode(model.Make(), "abc"), ElementsAre(0, 4));
}

// Random merges over three letters, words of all lengths around the change from one algorithm to
// the other, each twice so that the second comes from the cache.
TEST(Bpe, AgreesWithTheDefinition) {
  Numbers random;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    while (tokens.size() < 25) {
      const std::string left = tokens[random.Below(tokens.size())];
      const std::string right = tokens[random.Below(tokens.size())];
      if (std::find(tokens.begin(), tokens.end(), left + right) != tokens.end()) continue;
      tokens.push_back(left + right);
      merges.emplace_back(left, right);
    }
    const Model model(tokens, merges);
    const Bpe bpe = model.Make();
    Bpe::Memory memory;
    for (const size_t length : {1, 2, 3, 7, 26, 27, 47, 48, 49, 50, 100, 301}) {
      std::string word;
      for (size_t i = 0; i < length; ++i) word.push_back("abc"[random.Below(3)]);
      const std::vector<int32_t> expected = MergeByDefinition(model, word);
      for (int again = 0; again < 2; ++again) {
        std::vector<int32_t> ids;
        bpe.Encode(word, memory, ids);
        ASSERT_EQ(ids, expected) << word;
      }
    }
  }
}

// Quadratic work would take hours here.
TEST(Bpe, MergesAMegabyteWord) {
  const Model model({"a", "b", "ab", "abab", "ba"}, {{"a", "b"}, {"ab", "ab"}, {"b", "a"}});
  std::string word;
  while (word.size() < (size_t{1} << 20)) word += "ab";
  const std::vector<int32_t> ids = Encode(model.Make(), word);
  EXPECT_EQ(ids, std::vector<int32_t>(size_t{1} << 18, 3));
}

TEST(Bpe, TakesUnknownCharactersAsItIsTold) {
  const Model model({"<unk>", "a", "<0xC3>", "<0xA9>", "b"}, {});
  const std::string text =
      "a\u00e9\u00e8\u4f60\u4f61"
      "b";  // bytes of the second are not all there
  EXPECT_THAT(Encode(model.Make(), text), ElementsAre(1, 4));
  EXPECT_THAT(Encode(model.Make({.unknown_id = 0}), text), ElementsAre(1, 0, 0, 0, 0, 4));
  EXPECT_THAT(Encode(model.Make({.unknown_id = 0, .fuses_unknown = true}), text),
              ElementsAre(1, 0, 4));
  EXPECT_THAT(Encode(model.Make({.unknown_id = 0, .byte_fallback = true}), text),
              ElementsAre(1, 2, 3, 0, 0, 0, 4));
  EXPECT_THAT(Encode(model.Make({.unknown_id = 0}), "\u4f60"), ElementsAre(0));
  EXPECT_THAT(Encode(model.Make(), "\u4f60"), ElementsAre());
}

TEST(Bpe, IgnoresMergesForWordsOfTheVocabulary) {
  const Model model({"a", "b", "c", "ab", "abc"}, {{"a", "b"}});
  EXPECT_THAT(Encode(model.Make(), "abc"), ElementsAre(3, 2));
  EXPECT_THAT(Encode(model.Make({.ignores_merges = true}), "abc"), ElementsAre(4));
  EXPECT_THAT(Encode(model.Make({.ignores_merges = true}), "abca"), ElementsAre(3, 2, 0));
}

TEST(Bpe, ReadsBytesOnlyWithAllOfThem) {
  const Model model({"a", "b"}, {});
  Bpe bpe = model.Make();
  EXPECT_FALSE(bpe.UseRawBytes());
  EXPECT_THAT(Encode(bpe, "ab"), ElementsAre(0, 1));
}

TEST(WordCache, KeepsWhatFitsAndNeverAnswersForAnotherWord) {
  WordCache cache;
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_TRUE(cache.Find("word").empty());
  const std::string longest(WordCache::kMaxWordBytes, 'x');
  cache.Put(longest, ids);
  EXPECT_EQ(cache.Find(longest).size(), 7);
  EXPECT_TRUE(cache.Find(longest.substr(1)).empty());
  cache.Put(longest + "x", ids);
  cache.Put("empty", {});
  cache.Put("many", std::vector<int32_t>(8, 1));
  EXPECT_TRUE(cache.Find("empty").empty());
  EXPECT_TRUE(cache.Find("many").empty());
  // Far more words than places: each answer is the word's own or none.
  size_t found = 0;
  for (int32_t i = 0; i < 300'000; ++i) cache.Put(StrCat("w", i), std::vector<int32_t>{i});
  for (int32_t i = 0; i < 300'000; ++i) {
    const std::span<const int32_t> answer = cache.Find(StrCat("w", i));
    if (answer.empty()) continue;
    ++found;
    ASSERT_EQ(answer[0], i);
  }
  EXPECT_GT(found, 50'000);
}

}  // namespace
}  // namespace horizon
