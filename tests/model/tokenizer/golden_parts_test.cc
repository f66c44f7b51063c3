// Single normalizers, pre-tokenizers and decoders against Hugging Face's library.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/document.h"
#include "model/tokenizer/decoder.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "tests/model/tokenizer/golden_tokenizers.h"

namespace horizon {
namespace {

// A tokenizer.json that has nothing but one section.
Document WithSection(std::string_view section, const Value& config) {
  Value::Object root;
  root.emplace_back(std::string(section), config);
  return {.file = "golden", .root = Value(std::move(root), 1)};
}

TEST(GoldenParts, PreTokenizersCutAsTheLibrarys) {
  const Document golden = ReadGolden("parts.json");
  const std::vector<std::string> texts = TextsOf(At(golden.root, "texts"));
  int number = 0;
  for (const Value& entry : ArrayAt(golden.root, "pre_tokenizers")) {
    const Document document = WithSection("pre_tokenizer", At(entry, "config"));
    const absl::StatusOr<PreTokenizer> pre_tokenizer = PreTokenizer::Read(document);
    ASSERT_TRUE(pre_tokenizer.ok()) << number << ": " << pre_tokenizer.status();
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::string> words;
      MatchMemory memory;
      const absl::Status status = pre_tokenizer->Split(texts[i], PreTokenizer::Place::kFirst,
                                                       memory, [&](std::string_view word) {
                                                         words.emplace_back(word);
                                                         return absl::OkStatus();
                                                       });
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(words, TextsOf(ArrayAt(entry, "words")[i]))
          << number << ": " << testing::PrintToString(texts[i]);
    }
    ++number;
  }
  EXPECT_GT(number, 60);
}

TEST(GoldenParts, NormalizersChangeTextAsTheLibrarys) {
  const Document golden = ReadGolden("parts.json");
  const std::vector<std::string> texts = TextsOf(At(golden.root, "texts"));
  int number = 0;
  for (const Value& entry : ArrayAt(golden.root, "normalizers")) {
    const Document document = WithSection("normalizer", At(entry, "config"));
    const absl::StatusOr<Normalizer> normalizer = Normalizer::Read(document);
    ASSERT_TRUE(normalizer.ok()) << number << ": " << normalizer.status();
    const std::vector<std::string> expected = TextsOf(At(entry, "normalized"));
    for (size_t i = 0; i < texts.size(); ++i) {
      std::string text = texts[i];
      std::string spare;
      MatchMemory memory;
      EXPECT_TRUE(normalizer->Apply(text, TextPosition::kStart, memory, spare).ok());
      EXPECT_EQ(text, expected[i]) << number << ": " << testing::PrintToString(texts[i]);
    }
    ++number;
  }
  EXPECT_GT(number, 10);
}

TEST(GoldenParts, DecodersJoinTokensAsTheLibrarys) {
  const Document golden = ReadGolden("parts.json");
  int number = 0;
  for (const Value& entry : ArrayAt(golden.root, "decoders")) {
    const Document document = WithSection("decoder", At(entry, "config"));
    const absl::StatusOr<Decoder> decoder = Decoder::Read(document);
    ASSERT_TRUE(decoder.ok()) << number << ": " << decoder.status();
    const std::vector<std::string> expected = TextsOf(At(entry, "decoded"));
    const Value::Array& lists = ArrayAt(golden.root, "token_lists");
    for (size_t i = 0; i < lists.size(); ++i) {
      EXPECT_EQ(decoder->Decode(TextsOf(lists[i])), expected[i]) << number << ", list " << i;
    }
    ++number;
  }
  EXPECT_GT(number, 10);
}

// Whatever tokens follow, text that was called certain stays.
TEST(GoldenParts, DecodersKnowWhatMayStillChange) {
  const Document golden = ReadGolden("parts.json");
  std::vector<std::string> tokens;
  for (const Value& list : ArrayAt(golden.root, "token_lists")) {
    for (const std::string& token : TextsOf(list)) tokens.push_back(token);
  }
  for (const Value& entry : ArrayAt(golden.root, "decoders")) {
    const Document document = WithSection("decoder", At(entry, "config"));
    const absl::StatusOr<Decoder> decoder = Decoder::Read(document);
    ASSERT_TRUE(decoder.ok());
    std::string certain;
    for (size_t count = 0; count <= tokens.size(); ++count) {
      const std::vector<std::string> so_far(tokens.begin(), tokens.begin() + count);
      const std::string text = decoder->Decode(so_far);
      ASSERT_TRUE(text.starts_with(certain)) << count << ": " << text << " and " << certain;
      certain = text.substr(0, text.size() - decoder->UncertainBytes(so_far, text));
    }
  }
}

}  // namespace
}  // namespace horizon
