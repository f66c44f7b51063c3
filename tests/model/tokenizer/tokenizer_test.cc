// What the goldens cannot show: bytes, texts that go on, streams, what a vocabulary tells.
#include "model/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/tokenizer/load_tokenizer.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using SpecialTokens = Tokenizer::SpecialTokens;

constexpr EncodeOptions kContinuing = {.position = TextPosition::kContinues};

std::unique_ptr<Tokenizer> Parse(const std::string& json) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = ParseTokenizer(json, "test");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

// Characters a to f and the metaspace; sections are given.
std::string Small(const std::string& sections) {
  return "{" + sections + R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3,
      "e": 4, "f": 5, "_": 6, "ab": 7, "_a": 8, " ": 9, "abc": 10},
      "merges": ["a b", ["_", "a"], "ab c"]}})";
}

TEST(ByteTokenizer, GivesEachByteItsOwnId) {
  const std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  std::string all;
  std::vector<int32_t> expected;
  for (int i = 0; i < 256; ++i) {
    all.push_back(static_cast<char>(i));
    expected.push_back(i);
  }
  EXPECT_EQ(Encode(*tokenizer, all), expected);
  EXPECT_EQ(Encode(*tokenizer, ""), std::vector<int32_t>());
  EXPECT_EQ(tokenizer->id_limit(), 259);
  EXPECT_EQ(tokenizer->TokenOf(0), std::string_view("\0", 1));
  EXPECT_EQ(tokenizer->TokenOf(255), "\xFF");
  EXPECT_EQ(tokenizer->TokenOf(259), "");
  EXPECT_EQ(tokenizer->TokenOf(-1), "");
  EXPECT_THAT(tokenizer->Prefix(), IsEmpty());
  EXPECT_THAT(tokenizer->Suffix(), IsEmpty());
}

TEST(ByteTokenizer, SeesItsSpecialTokensWhereAsked) {
  const std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  EXPECT_THAT(Encode(*tokenizer, "a<|end|><|begin|><|pad|><|en"),
              ElementsAre('a', 257, 256, 258, '<', '|', 'e', 'n'));
  EXPECT_EQ(Encode(*tokenizer, "<|end|>", {.added = AddedTokens::kNotSpecial}).size(), 7);
  EXPECT_EQ(Encode(*tokenizer, "<|end|>", {.added = AddedTokens::kNone}).size(), 7);
  EXPECT_EQ(tokenizer->IdOf("<|pad|>"), 258);
  EXPECT_EQ(tokenizer->IdOf("<|pad|>x"), std::nullopt);
  EXPECT_EQ(tokenizer->IdOf("ab"), std::nullopt);
  EXPECT_EQ(tokenizer->IdOf("\xFE"), 0xFE);
  EXPECT_TRUE(tokenizer->IsSpecial(256));
  EXPECT_FALSE(tokenizer->IsSpecial(255));
  EXPECT_FALSE(tokenizer->IsSpecial(259));
}

TEST(ByteTokenizer, DecodesToUtf8) {
  const std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  const std::vector<int32_t> ids = {256, 0xE4, 0xBD, 0xA0, 0xFF, 'a', 257, 1000, -5};
  EXPECT_EQ(tokenizer->Decode(ids, SpecialTokens::kSkip), "\u4f60\ufffda");
  EXPECT_EQ(tokenizer->Decode(ids, SpecialTokens::kSpell), "<|begin|>\u4f60\ufffda<|end|>");
}

TEST(TextStream, GivesACharacterWhenAllOfItsBytesAreThere) {
  const std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  TextStream stream(*tokenizer);
  EXPECT_EQ(stream.Push('a'), "a");
  EXPECT_EQ(stream.Push(0xE4), "");
  EXPECT_EQ(stream.Push(0xBD), "");
  EXPECT_EQ(stream.Push(257), "");
  EXPECT_EQ(stream.Push(0xA0), "\u4f60");
  EXPECT_EQ(stream.Push(0xC3), "");
  EXPECT_EQ(stream.Push('b'), "\ufffdb");
  EXPECT_EQ(stream.Push(0xF0), "");
  EXPECT_EQ(stream.Finish(), "\ufffd");
  EXPECT_EQ(stream.Finish(), "");
  EXPECT_EQ(stream.Push('c'), "c");
}

// A run of byte tokens is text only if all of it is; the library gives U+FFFD for each otherwise.
TEST(TextStream, HoldsARunOfByteTokensUntilItEnds) {
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer("llama2");
  const auto byte = [&](const char* token) { return tokenizer->IdOf(token).value(); };
  TextStream stream(*tokenizer);
  EXPECT_EQ(stream.Push(byte("\u2581")), "");  // the first space is not part of the text
  EXPECT_EQ(stream.Push(byte("a")), "a");
  EXPECT_EQ(stream.Push(byte("<0xC3>")), "");
  EXPECT_EQ(stream.Push(byte("<0xA9>")), "");
  EXPECT_EQ(stream.Push(byte("\u2581")), "\u00e9 ");
  EXPECT_EQ(stream.Push(byte("<0xC3>")), "");
  EXPECT_EQ(stream.Push(byte("<0xA9>")), "");
  EXPECT_EQ(stream.Push(byte("<0xFF>")), "");
  EXPECT_EQ(stream.Push(byte("a")), "\ufffd\ufffd\ufffda");
}

TEST(Tokenizer, PutsNothingBeforeATextThatGoesOn) {
  const std::unique_ptr<Tokenizer> llama2 = ReadGoldenTokenizer("llama2");
  const std::string space = "\u2581";
  const std::vector<int32_t> start = Encode(*llama2, "xq");
  const std::vector<int32_t> later = Encode(*llama2, "xq", kContinuing);
  EXPECT_TRUE(llama2->TokenOf(start[0]).starts_with(space));
  EXPECT_FALSE(llama2->TokenOf(later[0]).starts_with(space));

  const std::unique_ptr<Tokenizer> gpt2 = ReadGoldenTokenizer("gpt2");
  EXPECT_EQ(Encode(*gpt2, "xq"), Encode(*gpt2, " xq", kContinuing));
  EXPECT_NE(Encode(*gpt2, "xq"), Encode(*gpt2, "xq", kContinuing));
  // Behind an added token a text begins again.
  const std::vector<int32_t> behind = Encode(*gpt2, "<|endoftext|>xq", kContinuing);
  EXPECT_EQ(std::vector<int32_t>(behind.begin() + 1, behind.end()), Encode(*gpt2, "xq"));
}

TEST(Tokenizer, AlwaysPrependsBehindAddedTokensAndFirstDoesNot) {
  const std::string added = R"("added_tokens": [{"id": 20, "content": "<x>", "special": true}], )";
  const auto metaspace = [&](const std::string& scheme) {
    return Parse(Small(added + R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_",
        "prepend_scheme": ")" +
                       scheme + "\"}, "));
  };
  EXPECT_THAT(Encode(*metaspace("always"), "a<x>a"), ElementsAre(8, 20, 8));
  EXPECT_THAT(Encode(*metaspace("first"), "a<x>a"), ElementsAre(8, 20, 0));
  EXPECT_THAT(Encode(*metaspace("never"), "a<x>a"), ElementsAre(0, 20, 0));
  EXPECT_THAT(Encode(*metaspace("always"), "a<x>a", kContinuing), ElementsAre(0, 20, 8));
  EXPECT_THAT(Encode(*metaspace("first"), "a<x>a", kContinuing), ElementsAre(0, 20, 0));
  EXPECT_THAT(Encode(*metaspace("first"), "<x>a"), ElementsAre(20, 0));
}

TEST(Tokenizer, FindsTheLongestOfTheLeftmostAddedTokens) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(R"("added_tokens": [
      {"id": 7, "content": "ab", "normalized": false}, {"id": 21, "content": "abcd"},
      {"id": 22, "content": "bcde", "normalized": false},
      {"id": 23, "content": "abcdef", "normalized": false}], )"));
  EXPECT_EQ(tokenizer->id_limit(), 24);
  // Tokens that are not normalized are looked for first, wherever they stand.
  EXPECT_THAT(Encode(*tokenizer, "abcde"), ElementsAre(7, 2, 3, 4));
  EXPECT_THAT(Encode(*tokenizer, "abcdef"), ElementsAre(23));
  EXPECT_THAT(Encode(*tokenizer, "fbcdef"), ElementsAre(5, 22, 5));
  EXPECT_THAT(Encode(*tokenizer, "abcdef", {.added = AddedTokens::kNone}),
              ElementsAre(10, 3, 4, 5));
}

TEST(Tokenizer, AddedTokensTakeTheSpacesBesideThemWhereAsked) {
  const auto with = [](const std::string& flag) {
    return Parse(Small(R"("added_tokens": [{"id": 20, "content": "<x>", "special": true, ")" +
                       flag + "\": true}], "));
  };
  const std::string text = "a  <x> \u3000 b";
  EXPECT_THAT(Encode(*with("lstrip"), text), ElementsAre(0, 20, 9, 9, 1));
  EXPECT_THAT(Encode(*with("rstrip"), text), ElementsAre(0, 9, 9, 20, 1));
  EXPECT_THAT(Encode(*with("single_word"), text), ElementsAre(0, 9, 9, 20, 9, 9, 1));
}

TEST(Tokenizer, TellsItsVocabulary) {
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer("llama3");
  EXPECT_EQ(tokenizer->IdOf("<s>"), 0);
  EXPECT_EQ(tokenizer->TokenOf(1), "</s>");
  EXPECT_TRUE(tokenizer->IsSpecial(0));
  EXPECT_EQ(tokenizer->IdOf("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer->TokenOf(-1), "");
  EXPECT_EQ(tokenizer->TokenOf(static_cast<int32_t>(tokenizer->id_limit())), "");
  EXPECT_NE(tokenizer->TokenOf(static_cast<int32_t>(tokenizer->id_limit()) - 1), "");
  EXPECT_THAT(tokenizer->Prefix(), ElementsAre(0));
  EXPECT_THAT(tokenizer->Suffix(), ElementsAre(1));
  for (int32_t id = 0; id < tokenizer->id_limit(); ++id) {
    EXPECT_EQ(tokenizer->IdOf(tokenizer->TokenOf(id)), id);
  }
}

TEST(Tokenizer, HasAFingerprintOfItsFile) {
  EXPECT_EQ(Parse(Small(""))->fingerprint(), Parse(Small(""))->fingerprint());
  EXPECT_NE(Parse(Small(""))->fingerprint(), Parse(Small(" "))->fingerprint());
  EXPECT_NE(Parse(Small(""))->fingerprint(), MakeByteTokenizer()->fingerprint());
}

TEST(Tokenizer, AppendsToTheIdsItIsGiven) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(""));
  std::vector<int32_t> ids = {42};
  ASSERT_TRUE(tokenizer->Encode("ab", {}, ids).ok());
  EXPECT_THAT(ids, ElementsAre(42, 7));
}

TEST(Tokenizer, ReportsAnExpressionThatGivesUp) {
  const std::unique_ptr<Tokenizer> tokenizer =
      Parse(Small(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+a+)+[bc]"},
          "behavior": "Isolated", "invert": false}, )"));
  std::vector<int32_t> ids;
  const absl::Status status = tokenizer->Encode(std::string(60, 'a'), {}, ids);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  // And goes on with the next text.
  EXPECT_THAT(Encode(*tokenizer, "b"), ElementsAre(1));
}

}  // namespace
}  // namespace horizon
