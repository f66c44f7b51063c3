#include "model/tokenizer/unigram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/philox.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;

// A model and what it refers to.
class Model {
 public:
  Model(const std::vector<std::pair<std::string, double>>& pieces, const UnigramOptions& options) {
    size_t bytes = 0;
    for (const auto& piece : pieces) bytes += piece.first.size();
    vocabulary_.Reserve(pieces.size(), bytes);
    std::vector<double> scores;
    for (const auto& [text, score] : pieces) {
      vocabulary_.Add(text, static_cast<int32_t>(scores.size()));
      scores.push_back(score);
    }
    unigram_ = std::make_unique<Unigram>(vocabulary_, scores, options);
  }

  std::vector<int32_t> Encode(std::string_view word) {
    std::vector<int32_t> ids;
    unigram_->Encode(word, memory_, ids);
    std::vector<int32_t> again;
    std::vector<ByteRange> covered;
    unigram_->Encode(word, memory_, again, &covered);
    EXPECT_EQ(again, ids) << word;
    EXPECT_EQ(covered.size(), ids.size());
    // What ids stand for is the word.
    size_t end = 0;
    for (const ByteRange& range : covered) {
      EXPECT_EQ(range.begin, end) << word;
      end = range.end;
    }
    EXPECT_EQ(end, word.size()) << word;
    return ids;
  }
  size_t kept_nodes() const { return memory_.nodes.capacity(); }

 private:
  Vocabulary vocabulary_;
  std::unique_ptr<Unigram> unigram_;
  Unigram::Memory memory_;
};

TEST(Unigram, TakesTheLargestSum) {
  Model model(
      {{"<u>", 0}, {"a", -1}, {"b", -1}, {"ab", -1.5}, {"abc", -5}, {"c", -1}, {"bc", -0.5}}, {});
  EXPECT_THAT(model.Encode("a"), ElementsAre(1));
  EXPECT_THAT(model.Encode("ab"), ElementsAre(3));
  EXPECT_THAT(model.Encode("abc"), ElementsAre(1, 6));  // -1.5, not -2.5, -3 or -5
  EXPECT_THAT(model.Encode("abab"), ElementsAre(3, 3));
}

// -2 both ways: the last piece is the one that begins first.
TEST(Unigram, OfEqualSumsTakesTheOneWithTheLongestLastPiece) {
  Model model({{"<u>", 0}, {"a", -1}, {"ab", -1}, {"bc", -1}, {"c", -1}, {"b", -9}}, {});
  EXPECT_THAT(model.Encode("abc"), ElementsAre(1, 3));
}

TEST(Unigram, FusesUnknownCharacters) {
  Model model({{"<u>", 0}, {"a", -1}, {"\u00e9\u00e8", -300}}, {});
  EXPECT_THAT(model.Encode("xya"), ElementsAre(0, 1));
  EXPECT_THAT(model.Encode("xay"), ElementsAre(0, 1, 0));
  EXPECT_THAT(model.Encode("<u>"), ElementsAre(0));
  EXPECT_THAT(model.Encode("x<u>y"), ElementsAre(0));
  // Two unknown characters score -2 * 310, the piece of both -300.
  EXPECT_THAT(model.Encode("\u00e9\u00e8"), ElementsAre(2));
  EXPECT_THAT(model.Encode("\u00e8\u00e9"), ElementsAre(0));
}

// Unknown characters score 10 less than the lowest: 20 each, so two of them more than "xy" does.
TEST(Unigram, LooksUpTheRunOfUnknownCharacters) {
  Model model({{"<u>", 50}, {"a", 50}, {"xy", 30}}, {});
  EXPECT_THAT(model.Encode("axya"), ElementsAre(1, 2, 1));
  EXPECT_THAT(model.Encode("xyx"), ElementsAre(0));
}

TEST(Unigram, FallsBackToBytesWhereAllOfThemAreThere) {
  Model model({{"<u>", 0}, {"a", -1}, {"<0xC3>", 0}, {"<0xA9>", 0}, {"<0x78>", 0}},
              {.byte_fallback = true});
  EXPECT_THAT(model.Encode("a\u00e9x"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(model.Encode("y\u00e9a"), ElementsAre(0, 1));
}

// Words of more than kKeptNodes bytes are given out in parts; the sums go on.
TEST(Unigram, GivesLongWordsTheIdsOfAllWays) {
  uint64_t drawn = 0;
  const auto random = [&] { return Philox(PhiloxKeyOf(7), PhiloxCounterOf(drawn++, 0))[0]; };
  const std::string letters = "abcd";
  std::vector<std::pair<std::string, double>> pieces = {{"<u>", -3}};
  for (const char* piece : {"a", "b", "c", "ab", "bc", "ca", "abc", "cab", "bcab"}) {
    pieces.emplace_back(piece, -0.25 * static_cast<double>(random() % 40));
  }
  Model model(pieces, {});
  std::string word;
  for (int i = 0; i < 20'000; ++i) word.push_back(letters[random() % 4]);
  const std::vector<int32_t> ids = model.Encode(word);
  // "d" is in no piece, so that words between are encoded as if alone, but for the run of d.
  std::vector<int32_t> expected;
  for (size_t at = 0; at < word.size();) {
    const size_t end = std::min(word.find('d', at), word.size());
    if (end > at) {
      const std::vector<int32_t> part = model.Encode(word.substr(at, end - at));
      expected.insert(expected.end(), part.begin(), part.end());
    }
    at = std::min(word.find_first_not_of('d', end), word.size());
    if (at > end) expected.push_back(0);
  }
  EXPECT_EQ(ids, expected);
}

TEST(Unigram, KeepsLittleOfAWordWhereWaysMeet) {
  Model model({{"<u>", 0}, {"a", -1}, {"b", -1}, {"ab", -1}}, {});
  std::string word;
  for (int i = 0; i < 500'000; ++i) word += "ab";
  EXPECT_EQ(model.Encode(word).size(), 500'000);
  EXPECT_LT(model.kept_nodes(), 20'000);
  Model overlapping({{"<u>", 0}, {"a", -1}, {"aa", -1.5}}, {});
  EXPECT_EQ(overlapping.Encode(std::string(1'000'001, 'a')).size(), 500'001);
}

}  // namespace
}  // namespace horizon
