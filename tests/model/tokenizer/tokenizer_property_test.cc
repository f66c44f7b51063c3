#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/text/str_cat.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/text/unicode_text.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

using SpecialTokens = Tokenizer::SpecialTokens;

// Characters from everywhere, spaces and ASCII more often.
std::string RandomText() {
  const auto character = rc::gen::weightedOneOf<uint32_t>(
      {{6, rc::gen::inRange<uint32_t>(0x20, 0x7F)},
       {3, rc::gen::elementOf(std::vector<uint32_t>{' ', '\n', '\r', '\t', 0xA0, 0x3000, '\''})},
       {2, rc::gen::inRange<uint32_t>(0x80, 0x3000)},
       {1, rc::gen::inRange<uint32_t>(0x3000, 0xD800)},
       {1, rc::gen::inRange<uint32_t>(0xE000, 0x110000)}});
  std::string text;
  for (const uint32_t c : *rc::gen::container<std::vector<uint32_t>>(character)) {
    AppendCharacter(c, text);
  }
  return text;
}

// Byte-level without a normalizer and without a space before the text.
RC_GTEST_PROP(TokenizerProperty, ByteLevelTextComesBackAsItWas, ()) {
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer("llama3");
  const std::string text = RandomText();
  const std::vector<int32_t> ids = Encode(*tokenizer, text, {.added = AddedTokens::kNone});
  RC_ASSERT(tokenizer->Decode(ids, SpecialTokens::kSkip) == text);
  for (const int32_t id : ids) RC_ASSERT(id >= 0 && id < tokenizer->id_limit());
}

RC_GTEST_PROP(TokenizerProperty, ByteFallbackLosesNothing, ()) {
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer("llama2");
  std::string text = RandomText();
  const std::vector<int32_t> ids = Encode(*tokenizer, text, {.added = AddedTokens::kNone});
  // The metaspace itself reads back as a space.
  std::string expected;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = NextCharacter(text, at);
    AppendCharacter(c == 0x2581 ? ' ' : c, expected);
  }
  RC_ASSERT(tokenizer->Decode(ids, SpecialTokens::kSkip) == expected);
}

// Nothing reaches over an added token.
RC_GTEST_PROP(TokenizerProperty, TextsOnBothSidesOfAnAddedTokenAreEncodedAlone, ()) {
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer("qwen");
  const std::string left = RandomText();
  const std::string right = RandomText();
  std::vector<int32_t> expected = Encode(*tokenizer, left);
  expected.push_back(tokenizer->IdOf("<|endoftext|>").value());
  RC_ASSERT(tokenizer->Encode(right, {}, expected).ok());
  RC_ASSERT(Encode(*tokenizer, StrCat(left, "<|endoftext|>", right)) == expected);
}

RC_GTEST_PROP(TokenizerProperty, StreamsAddUpToTheWholeText, ()) {
  const std::string kind = *rc::gen::elementOf(GoldenTokenizerNames());
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer(kind);
  const auto limit = static_cast<int32_t>(tokenizer->id_limit()) + 3;
  // Low ids are the bytes of the vocabularies: runs of them are the hard part.
  const auto id =
      rc::gen::oneOf(rc::gen::inRange<int32_t>(-1, limit), rc::gen::inRange<int32_t>(0, 270));
  const auto ids = *rc::gen::container<std::vector<int32_t>>(id);
  TextStream stream(*tokenizer);
  std::string text;
  for (const int32_t one : ids) {
    const std::string piece = stream.Push(one);
    std::string storage;
    RC_ASSERT(WithValidUtf8(piece, storage).data() == piece.data());
    text += piece;
  }
  text += stream.Finish();
  RC_ASSERT(text == tokenizer->Decode(ids, SpecialTokens::kSkip));
}

// Bytes that are not UTF-8 count as U+FFFD.
RC_GTEST_PROP(TokenizerProperty, BrokenTextIsEncodedAsItsReplacement, ()) {
  const std::string kind = *rc::gen::elementOf(GoldenTokenizerNames());
  const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer(kind);
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::string storage;
  const std::string valid(WithValidUtf8(bytes, storage));
  RC_ASSERT(Encode(*tokenizer, bytes) == Encode(*tokenizer, valid));
}

TEST(TokenizerThreads, GiveEqualIds) {
  for (const std::string& kind : GoldenTokenizerNames()) {
    const std::unique_ptr<Tokenizer> tokenizer = ReadGoldenTokenizer(kind);
    const auto text = [](int number) {
      return StrCat("the number ", number, " of many words ", number * 7919, " caf\u00e9 x",
                    number);
    };
    constexpr int kTexts = 400;
    std::vector<std::vector<int32_t>> expected;
    const std::unique_ptr<Tokenizer> alone = ReadGoldenTokenizer(kind);
    for (int i = 0; i < kTexts; ++i) expected.push_back(Encode(*alone, text(i)));
    std::vector<int> wrong(4);
    {
      std::vector<std::jthread> threads;
      for (size_t thread = 0; thread < wrong.size(); ++thread) {
        threads.emplace_back([&, thread] {
          for (int i = 0; i < kTexts; ++i) {
            std::vector<int32_t> ids;
            if (!tokenizer->Encode(text(i), {}, ids).ok() ||
                ids != expected[static_cast<size_t>(i)]) {
              ++wrong[thread];
            }
          }
        });
      }
    }
    EXPECT_EQ(wrong, std::vector<int>(4)) << kind;
  }
}

}  // namespace
}  // namespace horizon
