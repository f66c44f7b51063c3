// Whole tokenizers against Hugging Face's library: ids, decoded texts, streams.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/documents/document.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

using SpecialTokens = Tokenizer::SpecialTokens;

class GoldenTokenizer : public testing::TestWithParam<std::string> {
 protected:
  GoldenTokenizer()
      : tokenizer_(ReadGoldenTokenizer(GetParam())),
        expected_(ReadGolden(GetParam() + "/expected.json")) {}

  std::unique_ptr<Tokenizer> tokenizer_;
  Document expected_;
};

std::string Stream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  TextStream stream(tokenizer);
  std::string text;
  for (const int32_t id : ids) text += stream.Push(id);
  return text + stream.Finish();
}

TEST_P(GoldenTokenizer, GivesTheLibrarysIds) {
  for (const Value& golden : ArrayAt(expected_.root, "cases")) {
    const std::string text = FromHexadecimal(TextAt(golden, "bytes"));
    EXPECT_EQ(Encode(*tokenizer_, text), IdsOf(At(golden, "ids"))) << testing::PrintToString(text);
  }
}

TEST_P(GoldenTokenizer, GivesTheLibrarysOffsets) {
  int cases = 0;
  for (const Value& golden : ArrayAt(expected_.root, "cases")) {
    const Value* offsets = golden.Find("offsets");
    if (offsets == nullptr) continue;
    const std::string text = FromHexadecimal(TextAt(golden, "bytes"));
    const Encoded encoded = EncodeWithOffsets(*tokenizer_, text);
    EXPECT_EQ(encoded.ids, IdsOf(At(golden, "ids"))) << testing::PrintToString(text);
    EXPECT_EQ(encoded.offsets, RangesOf(*offsets)) << testing::PrintToString(text);
    ++cases;
  }
  EXPECT_GT(cases, 80);
}

TEST_P(GoldenTokenizer, LeavesSpecialTokensToTheTextWhereAsked) {
  for (const Value& golden : ArrayAt(expected_.root, "cases")) {
    const std::string text = FromHexadecimal(TextAt(golden, "bytes"));
    const Value* plain = golden.Find("not_special");
    EXPECT_EQ(Encode(*tokenizer_, text, {.added = AddedTokens::kNotSpecial}),
              IdsOf(plain == nullptr ? At(golden, "ids") : *plain))
        << testing::PrintToString(text);
  }
}

TEST_P(GoldenTokenizer, PutsTheLibrarysTokensAroundAText) {
  for (const Value& golden : ArrayAt(expected_.root, "cases")) {
    std::vector<int32_t> ids(tokenizer_->Prefix().begin(), tokenizer_->Prefix().end());
    const std::string text = FromHexadecimal(TextAt(golden, "bytes"));
    ASSERT_TRUE(tokenizer_->Encode(text, {}, ids).ok());
    ids.insert(ids.end(), tokenizer_->Suffix().begin(), tokenizer_->Suffix().end());
    const Value* around = golden.Find("around");
    EXPECT_EQ(ids, IdsOf(around == nullptr ? At(golden, "ids") : *around))
        << testing::PrintToString(text);
  }
}

TEST_P(GoldenTokenizer, DecodesAsTheLibrary) {
  for (const std::string_view list : {"cases", "decoded"}) {
    for (const Value& golden : ArrayAt(expected_.root, list)) {
      const std::vector<int32_t> ids = IdsOf(At(golden, "ids"));
      EXPECT_EQ(tokenizer_->Decode(ids, SpecialTokens::kSkip), TextAt(golden, "text"));
      EXPECT_EQ(tokenizer_->Decode(ids, SpecialTokens::kSpell), TextAt(golden, "spelled"));
      EXPECT_EQ(Stream(*tokenizer_, ids), TextAt(golden, "text")) << testing::PrintToString(ids);
    }
  }
}

// Up to a megabyte without a space; what make_goldens.py digested is digested here.
TEST_P(GoldenTokenizer, GivesTheLibrarysIdsForLongWords) {
  for (const Value& golden : ArrayAt(expected_.root, "repeated")) {
    std::string text;
    for (int64_t i = 0; i < IntegerAt(golden, "times"); ++i) text += TextAt(golden, "unit");
    const std::vector<int32_t> ids = Encode(*tokenizer_, text);
    EXPECT_EQ(ids.size(), IntegerAt(golden, "count"));
    uint64_t digest = 0;
    for (const int32_t id : ids) {
      digest = (digest * 31 + static_cast<uint64_t>(id) + 1) % (uint64_t{1} << 61);
    }
    EXPECT_EQ(digest, IntegerAt(golden, "digest")) << TextAt(golden, "unit");
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenTokenizer, testing::ValuesIn(GoldenTokenizerNames()),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace horizon
