// Rendered chats against transformers: ids where messages quote control tokens, and offsets.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/documents/document.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

class GoldenChat : public testing::TestWithParam<std::string> {
 protected:
  GoldenChat()
      : tokenizer_(ReadGoldenTokenizer(StrCat("chat_", GetParam()))),
        golden_(ReadGolden(StrCat("chat_", GetParam(), "/chats.json"))),
        control_ids_(IdsOf(At(golden_.root, "control_ids"))) {}

  std::unique_ptr<Tokenizer> tokenizer_;
  Document golden_;
  std::vector<int32_t> control_ids_;
};

TEST_P(GoldenChat, GivesTheIdsOfTransformersWhereControlTokensAreQuoted) {
  int cases = 0;
  for (const Value& golden : ArrayAt(golden_.root, "cases")) {
    const std::string& text = TextAt(golden, "text");
    const std::vector<ByteRange> quoted = RangesOf(At(golden, "quoted"));
    const EncodeOptions options = {.quoted = quoted, .control_ids = control_ids_};
    const Encoded encoded = EncodeWithOffsets(*tokenizer_, text, options);
    EXPECT_EQ(encoded.ids, IdsOf(At(golden, "ids"))) << testing::PrintToString(text);
    EXPECT_EQ(Encode(*tokenizer_, text, options), encoded.ids);
    for (const ByteRange& range : encoded.offsets) {
      EXPECT_LT(range.begin, range.end);
      EXPECT_LE(range.end, text.size());
    }
    ++cases;
  }
  EXPECT_GT(cases, 100);
}

TEST_P(GoldenChat, GivesTheLibrarysOffsetsWhereNoneIsQuoted) {
  int cases = 0;
  for (const Value& golden : ArrayAt(golden_.root, "cases")) {
    const Value* offsets = golden.Find("offsets");
    if (offsets == nullptr) continue;
    const std::string& text = TextAt(golden, "text");
    const std::vector<ByteRange> quoted = RangesOf(At(golden, "quoted"));
    for (const EncodeOptions& options :
         {EncodeOptions{}, EncodeOptions{.quoted = quoted, .control_ids = control_ids_}}) {
      const Encoded encoded = EncodeWithOffsets(*tokenizer_, text, options);
      EXPECT_EQ(encoded.ids, IdsOf(At(golden, "ids"))) << testing::PrintToString(text);
      EXPECT_EQ(encoded.offsets, RangesOf(*offsets)) << testing::PrintToString(text);
    }
    ++cases;
  }
  EXPECT_GT(cases, 40);
}

// No special token but those of the template, wherever messages quote them.
TEST_P(GoldenChat, HasNoSpecialTokenInQuotedText) {
  for (const Value& golden : ArrayAt(golden_.root, "cases")) {
    const std::string& text = TextAt(golden, "text");
    const std::vector<ByteRange> all = {{0, text.size()}};
    for (const int32_t id : Encode(*tokenizer_, text, {.quoted = all})) {
      EXPECT_FALSE(tokenizer_->IsSpecial(id)) << tokenizer_->TokenOf(id) << " in " << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenChat, testing::ValuesIn(GoldenChatNames()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace horizon
