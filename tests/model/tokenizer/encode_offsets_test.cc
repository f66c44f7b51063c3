// Which bytes tokens cover, and quoted text, where an answer can be told in the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/text/str_cat.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/quoted_ranges.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::unique_ptr<Tokenizer> Parse(const std::string& json) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = ParseTokenizer(json, "test");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

// a to c, the metaspace, é, the bytes of a thumb (f0 9f 91 8d), "ab", and what is spelled "<s>".
std::string Small(const std::string& sections, const std::string& model = "") {
  return StrCat("{", sections, R"("model": {"type": "BPE", )", model,
                R"("vocab": {"<u>": 0, "a": 1, "b": 2, "c": 3, "_": 4, "é": 5, "<0xF0>": 6,
      "<0x9F>": 7, "<0x91>": 8, "<0x8D>": 9, "ab": 10, "_a": 11, "<": 12, "s": 13, ">": 14,
      "<s": 15, "<s>": 16, "i": 17, "\n": 18, " ": 19},
      "merges": ["a b", "_ a", "< s", "<s >"]}})");
}

constexpr char kSpecial[] =
    R"("added_tokens": [{"id": 20, "content": "<x>", "special": true, "lstrip": true},
       {"id": 16, "content": "<s>", "special": true}, {"id": 21, "content": "<y>"}], )";

constexpr char kFallback[] = R"("byte_fallback": true, "unk_token": "<u>", "fuse_unk": true, )";

TEST(EncodeWithOffsets, CoversWhatTokensWereMergedOf) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(kSpecial));
  const Encoded encoded = EncodeWithOffsets(*tokenizer, "abc  <x>éab<y>");
  EXPECT_THAT(encoded.ids, ElementsAre(10, 3, 20, 5, 10, 21));
  // The special token takes the spaces before it along; é has two bytes.
  EXPECT_THAT(encoded.offsets, ElementsAre(ByteRange{0, 2}, ByteRange{2, 3}, ByteRange{3, 8},
                                           ByteRange{8, 10}, ByteRange{10, 12}, ByteRange{12, 15}));
}

TEST(EncodeWithOffsets, AppendsAndTakesEmptyTexts) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(kSpecial));
  Encoded encoded = {.ids = {7}, .offsets = {{1, 2}}};
  ASSERT_TRUE(tokenizer->EncodeWithOffsets("c", {}, encoded.ids, encoded.offsets).ok());
  ASSERT_TRUE(tokenizer->EncodeWithOffsets("", {}, encoded.ids, encoded.offsets).ok());
  EXPECT_THAT(encoded.ids, ElementsAre(7, 3));
  EXPECT_THAT(encoded.offsets, ElementsAre(ByteRange{1, 2}, ByteRange{0, 1}));
}

TEST(EncodeWithOffsets, CoversACharacterByEachOfItsByteTokens) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small("", kFallback));
  const Encoded encoded = EncodeWithOffsets(*tokenizer, "a\U0001F44Dxyb");
  EXPECT_THAT(encoded.ids, ElementsAre(1, 6, 7, 8, 9, 0, 2));
  const ByteRange thumb = {1, 5};
  EXPECT_THAT(encoded.offsets, ElementsAre(ByteRange{0, 1}, thumb, thumb, thumb, thumb,
                                           ByteRange{5, 7}, ByteRange{7, 8}));
}

// Without a token for them characters vanish, and what is behind them keeps its place.
TEST(EncodeWithOffsets, LeavesOutCharactersWithoutAToken) {
  const Encoded encoded = EncodeWithOffsets(*Parse(Small("")), "xbxya");
  EXPECT_THAT(encoded.ids, ElementsAre(2, 1));
  EXPECT_THAT(encoded.offsets, ElementsAre(ByteRange{1, 2}, ByteRange{4, 5}));
}

TEST(EncodeWithOffsets, CountsTheBytesOfTheTextThatWasGivenWhereItIsBroken) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small("", kFallback));
  // A lone byte and the first two of three count as U+FFFD, which is unknown.
  const Encoded encoded = EncodeWithOffsets(*tokenizer,
                                            "a\xFF"
                                            "b\xE4\xBD"
                                            "c");
  EXPECT_THAT(encoded.ids, ElementsAre(1, 0, 2, 0, 3));
  EXPECT_THAT(encoded.offsets, ElementsAre(ByteRange{0, 1}, ByteRange{1, 2}, ByteRange{2, 3},
                                           ByteRange{3, 5}, ByteRange{5, 6}));
}

TEST(EncodeWithOffsets, LetsWhatIsPutBeforeATextCoverItsFirstCharacter) {
  const std::string metaspace =
      R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}, )";
  const std::string prepend = R"("normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "_"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "_"}]}, )";
  for (const std::string& sections : {metaspace, prepend}) {
    const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(sections));
    const Encoded accent = EncodeWithOffsets(*tokenizer, "é b");
    EXPECT_THAT(accent.ids, ElementsAre(4, 5, 4, 2));
    EXPECT_THAT(accent.offsets,
                ElementsAre(ByteRange{0, 2}, ByteRange{0, 2}, ByteRange{2, 3}, ByteRange{3, 4}));
    const Encoded merged = EncodeWithOffsets(*tokenizer, "ac");
    EXPECT_THAT(merged.ids, ElementsAre(11, 3));
    EXPECT_THAT(merged.offsets, ElementsAre(ByteRange{0, 1}, ByteRange{1, 2}));
    const Encoded later =
        EncodeWithOffsets(*tokenizer, "ac", {.position = TextPosition::kContinues});
    EXPECT_THAT(later.ids, ElementsAre(1, 3));
  }
}

TEST(EncodeWithOffsets, FollowsNormalizers) {
  const auto with = [](const std::string& normalizers) {
    return Parse(Small(
        StrCat(R"("normalizer": {"type": "Sequence", "normalizers": [)", normalizers, "]}, ")));
  };
  // An accent is put together with its letter: the token covers both.
  const Encoded composed = EncodeWithOffsets(*with(R"({"type": "NFC"})"), "be\u0301a");
  EXPECT_THAT(composed.offsets, ElementsAre(ByteRange{0, 1}, ByteRange{1, 4}, ByteRange{4, 5}));
  // What is dropped is covered by nothing.
  const Encoded stripped = EncodeWithOffsets(
      *with(R"({"type": "Strip", "strip_left": true, "strip_right": true}, {"type": "NFD"},
          {"type": "StripAccents"}, {"type": "Lowercase"})"),
      "  A\u0301B ");
  EXPECT_THAT(stripped.ids, ElementsAre(10));
  EXPECT_THAT(stripped.offsets, ElementsAre(ByteRange{2, 6}));
  // One character becomes two.
  const Encoded lower =
      EncodeWithOffsets(*with(R"({"type": "Lowercase"}, {"type": "StripAccents"})"), "\u0130a");
  EXPECT_THAT(lower.offsets, ElementsAre(ByteRange{0, 2}, ByteRange{2, 3}));
  // Of a run that is replaced the last character counts, as in the library.
  const Encoded replaced = EncodeWithOffsets(
      *with(R"({"type": "Replace", "pattern": {"Regex": "[ i]+"}, "content": "_c"})"), "b  i a");
  EXPECT_THAT(replaced.ids, ElementsAre(2, 4, 3, 1));
  EXPECT_THAT(replaced.offsets,
              ElementsAre(ByteRange{0, 1}, ByteRange{4, 5}, ByteRange{4, 5}, ByteRange{5, 6}));
}

// The vocabulary spells "<s>" by merges, too, as some do: quoted, it is spelled in parts.
TEST(EncodeQuoted, CannotSpellASpecialTokenByMerges) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(kSpecial));
  const std::vector<ByteRange> quoted = {{3, 9}};
  const Encoded encoded = EncodeWithOffsets(*tokenizer, "<s>a<s>bb<s>", {.quoted = quoted});
  EXPECT_THAT(encoded.ids, ElementsAre(16, 1, 12, 13, 14, 2, 2, 16));
  EXPECT_THAT(encoded.offsets,
              ElementsAre(ByteRange{0, 3}, ByteRange{3, 4}, ByteRange{4, 5}, ByteRange{5, 6},
                          ByteRange{6, 7}, ByteRange{7, 8}, ByteRange{8, 9}, ByteRange{9, 12}));
  // Where nothing of it is quoted, merges may still spell it.
  EXPECT_THAT(Encode(*tokenizer, "<s>", {.added = AddedTokens::kNone}), ElementsAre(16));
}

TEST(EncodeQuoted, RefusesTextThatOnlyASpecialTokenSpells) {
  const std::unique_ptr<Tokenizer> tokenizer =
      Parse(Small(R"("added_tokens": [{"id": 3, "content": "c", "special": true}], )"));
  const std::vector<ByteRange> quoted = {{1, 2}};
  std::vector<int32_t> ids;
  EXPECT_EQ(tokenizer->Encode("acb", {.quoted = quoted}, ids).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Encode(*tokenizer, "acb"), ElementsAre(1, 3, 2));
}

// A byte of it is enough, at either end, and an empty range is none.
TEST(EncodeQuoted, LeavesATokenToTheTextWhereAnyByteOfItIsQuoted) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(kSpecial));
  const auto is_seen = [&](std::vector<ByteRange> quoted) {
    const std::vector<int32_t> ids = Encode(*tokenizer, "ab<x>ab", {.quoted = quoted});
    return std::find(ids.begin(), ids.end(), 20) != ids.end();
  };
  EXPECT_FALSE(is_seen({{2, 3}}));
  EXPECT_FALSE(is_seen({{0, 1}, {4, 7}}));
  EXPECT_FALSE(is_seen({{3, 3}, {3, 4}}));
  EXPECT_TRUE(is_seen({{0, 2}, {5, 7}}));
  EXPECT_TRUE(is_seen({{3, 3}}));
  // Spaces that it would take along do not count.
  const std::vector<ByteRange> space = {{0, 2}};
  EXPECT_THAT(Encode(*tokenizer, "a <x>", {.quoted = space}), ElementsAre(1, 20));
}

TEST(EncodeQuoted, SeesTokensThatAreNotSpecialUnlessTheyAreNamed) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(kSpecial, kFallback));
  const std::vector<ByteRange> quoted = {{0, 4}};
  const std::vector<int32_t> named = {21, 99};
  EXPECT_THAT(Encode(*tokenizer, "a<y>b", {.quoted = quoted}), ElementsAre(1, 21, 2));
  EXPECT_THAT(Encode(*tokenizer, "a<y>b", {.quoted = quoted, .control_ids = named}),
              ElementsAre(1, 12, 0, 14, 2));
  EXPECT_THAT(Encode(*tokenizer, "a<y>b<y>", {.quoted = quoted, .control_ids = named}),
              ElementsAre(1, 12, 0, 14, 2, 21));
  EXPECT_THAT(Encode(*tokenizer, "a<y><x>",
                     {.added = AddedTokens::kNotSpecial, .quoted = quoted, .control_ids = named}),
              ElementsAre(1, 12, 0, 14, 12, 0, 14));
}

// A special token that is looked for behind the normalizer, where the text does not spell it.
TEST(EncodeQuoted, CannotSpellASpecialTokenThroughTheNormalizer) {
  const std::unique_ptr<Tokenizer> tokenizer = Parse(Small(R"("normalizer": {"type": "Lowercase"},
        "added_tokens": [{"id": 20, "content": "<Ab>", "special": true, "normalized": true}], )"));
  const std::vector<ByteRange> quoted = {{5, 9}};
  EXPECT_THAT(Encode(*tokenizer, "<aB>c<AB>", {.quoted = quoted}), ElementsAre(20, 3, 12, 10, 14));
  EXPECT_THAT(Encode(*tokenizer, "<aB>c<AB>"), ElementsAre(20, 3, 20));
}

TEST(EncodeQuoted, RefusesRangesOutOfOrderOrBeyondTheText) {
  const std::unique_ptr<Tokenizer> bytes = MakeByteTokenizer();
  const std::unique_ptr<Tokenizer> small = Parse(Small(""));
  for (const std::vector<ByteRange>& quoted :
       {std::vector<ByteRange>{{0, 4}}, {{2, 1}}, {{1, 3}, {2, 3}}, {{2, 3}, {0, 1}}, {{4, 4}}}) {
    for (const Tokenizer* tokenizer : {bytes.get(), small.get()}) {
      Encoded encoded;
      EXPECT_EQ(
          tokenizer->EncodeWithOffsets("abc", {.quoted = quoted}, encoded.ids, encoded.offsets)
              .code(),
          absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(encoded.ids, IsEmpty());
    }
  }
}

TEST(ByteTokenizer, CoversBytesAndLeavesQuotedTokensToTheText) {
  const std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  const Encoded encoded = EncodeWithOffsets(*tokenizer, "a<|end|>\xC3");
  EXPECT_THAT(encoded.ids, ElementsAre('a', 257, 0xC3));
  EXPECT_THAT(encoded.offsets, ElementsAre(ByteRange{0, 1}, ByteRange{1, 8}, ByteRange{8, 9}));
  const std::vector<ByteRange> quoted = {{7, 8}};
  EXPECT_EQ(Encode(*tokenizer, "<|end|><|end|>", {.quoted = quoted}).size(), 1 + 7);
}

TEST(QuotedRanges, OverlapWhereTheyShareAByte) {
  const std::vector<ByteRange> ranges = {{2, 4}, {4, 4}, {6, 9}};
  EXPECT_TRUE(Overlaps({3, 5}, ranges));
  EXPECT_TRUE(Overlaps({0, 10}, ranges));
  EXPECT_TRUE(Overlaps({4, 7}, ranges));
  EXPECT_FALSE(Overlaps({4, 6}, ranges));
  EXPECT_FALSE(Overlaps({0, 2}, ranges));
  EXPECT_FALSE(Overlaps({9, 12}, ranges));
  EXPECT_FALSE(Overlaps({3, 3}, ranges));
  EXPECT_FALSE(Overlaps({3, 5}, {}));
}

}  // namespace
}  // namespace horizon
