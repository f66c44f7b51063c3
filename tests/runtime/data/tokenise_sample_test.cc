#include "runtime/data/tokenise_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/str_cat.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Tokens = Tokenizer::SpecialTokens;

TokeniseOptions OptionsFor(const Tokenizer& tokenizer, ChatMarkup markup = ChatMarkup::kChatMl) {
  return {.tokenizer = &tokenizer,
          .end_id = FakeTokenizer::kEnd,
          .chat = ChatFormat{.markup = markup},
          .vocab = FakeTokenizer::kVocab,
          .sequence = 1000};
}

Sample Conversation(std::vector<ChatTurn> turns) {
  return {.kind = DataKind::kMessages, .turns = std::move(turns)};
}
const ChatTurn kAsk = {.role = ChatRole::kUser, .content = "U"};
const ChatTurn kAnswer = {.role = ChatRole::kAssistant, .content = "A"};

TokenLine Tokenise(const Sample& sample, const TokeniseOptions& options) {
  TokenLine line = {.ids = {1, 2}, .labels = {3}};
  EXPECT_TRUE(CheckKind(sample.kind, options).ok());
  const absl::Status status = TokeniseSample(sample, options, line);
  EXPECT_TRUE(status.ok()) << status;
  return line;
}

// The text of all tokens, and of those that are learnt.
std::string Spell(const std::vector<int32_t>& ids) {
  return FakeTokenizer().Decode(ids, Tokens::kSpell);
}
std::string Learnt(const TokenLine& line) {
  EXPECT_EQ(line.labels.size(), line.ids.size());
  std::vector<int32_t> learnt;
  for (size_t i = 0; i < line.labels.size(); ++i) {
    EXPECT_TRUE(line.labels[i] == -100 || line.labels[i] == line.ids[i]);
    if (line.labels[i] >= 0) learnt.push_back(line.labels[i]);
  }
  return Spell(learnt);
}

TEST(TokeniseSample, ADocumentHasPrefixTextAndEnd) {
  const FakeTokenizer tokenizer({.marks_start = true, .prefix = {258}});
  TokeniseOptions options = OptionsFor(tokenizer);
  const TokenLine line = Tokenise({.kind = DataKind::kText, .text = "a<|im_end|>"}, options);
  EXPECT_THAT(line.ids, ElementsAre(258, FakeTokenizer::kStartMark, 'a', 257, FakeTokenizer::kEnd));
  EXPECT_TRUE(line.labels.empty());
  options.end_id.reset();
  EXPECT_THAT(Tokenise({.kind = DataKind::kText, .text = "a"}, options).ids,
              ElementsAre(258, FakeTokenizer::kStartMark, 'a'));
  EXPECT_TRUE(Tokenise({.kind = DataKind::kText, .text = ""}, options).ids.empty());
}

TEST(TokeniseSample, PiecesOfATextAreOneText) {
  const FakeTokenizer tokenizer({.marks_start = true, .prefix = {258}});
  const TokeniseOptions options = OptionsFor(tokenizer);
  TokenLine line;
  ASSERT_TRUE(TokenisePiece({.text = "a"}, options, line).ok());
  EXPECT_THAT(line.ids, ElementsAre(258, FakeTokenizer::kStartMark, 'a'));
  ASSERT_TRUE(TokenisePiece({.text = "b", .continues = true}, options, line).ok());
  EXPECT_THAT(line.ids, ElementsAre('b'));
  EndText(options, line);
  EXPECT_THAT(line.ids, ElementsAre('b', FakeTokenizer::kEnd));
}

TEST(TokeniseSample, OnlyAnswersAndTheirEndsAreLearnt) {
  const FakeTokenizer tokenizer;
  const std::vector<ChatTurn> turns = {
      {ChatRole::kSystem, "S"}, kAsk, kAnswer, kAsk, {ChatRole::kAssistant, "B"}};
  struct Case {
    ChatMarkup markup;
    std::string_view all;
    std::string_view learnt;
  };
  for (const Case& c : std::vector<Case>{
           {ChatMarkup::kChatMl,
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>"
            "assistant\n"
            "A<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n",
            "A<|im_end|>B<|im_end|>"},
           {ChatMarkup::kLlama3,
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|>",
            "A<|eot_id|>B<|eot_id|>"},
           {ChatMarkup::kMistral, "<s>[INST] U[/INST] A</s>[INST] S\n\nU[/INST] B</s>",
            " A</s> B</s>"},
           {ChatMarkup::kPlain, "S\nU\nA<|end|>U\nB<|end|>", "A<|end|>B<|end|>"}}) {
    TokeniseOptions options = OptionsFor(tokenizer, c.markup);
    const TokenLine line = Tokenise(Conversation(turns), options);
    EXPECT_EQ(Spell(line.ids), c.all);
    EXPECT_EQ(Learnt(line), c.learnt);
    options.train_on_prompt = true;
    const TokenLine whole = Tokenise(Conversation(turns), options);
    EXPECT_EQ(whole.ids, line.ids);
    EXPECT_EQ(whole.labels, line.ids);
  }
}

TEST(TokeniseSample, QuotedMarkupCannotEndATurn) {
  const FakeTokenizer tokenizer;
  const Sample sample = Conversation(
      {{ChatRole::kUser, "say <|im_end|><think>"}, {ChatRole::kAssistant, "<|im_end|>"}});
  const TokenLine line = Tokenise(sample, OptionsFor(tokenizer));
  // Two turns, each begun and ended once by the token itself.
  EXPECT_EQ(std::count(line.ids.begin(), line.ids.end(), 256), 2);
  EXPECT_EQ(std::count(line.ids.begin(), line.ids.end(), 257), 2);
  // What is no special token is seen in text as well.
  EXPECT_EQ(std::count(line.ids.begin(), line.ids.end(), 265), 1);
}

TEST(TokeniseSample, ThePrefixComesOnceUnlessTheFormatRendersIt) {
  const FakeTokenizer tokenizer({.prefix = {258}});
  for (const ChatMarkup markup : {ChatMarkup::kChatMl, ChatMarkup::kLlama3, ChatMarkup::kPlain}) {
    const TokenLine line = Tokenise(Conversation({kAsk, kAnswer}), OptionsFor(tokenizer, markup));
    EXPECT_EQ(line.ids.front(), 258);
    EXPECT_EQ(std::count(line.ids.begin(), line.ids.end(), 258), 1);
    EXPECT_EQ(line.labels.front(), -100);
  }
  const TokenLine line =
      Tokenise(Conversation({kAsk, kAnswer}), OptionsFor(tokenizer, ChatMarkup::kMistral));
  EXPECT_EQ(line.ids.front(), 262);
}

TEST(TokeniseSample, OnlyTheFirstTextStarts) {
  const FakeTokenizer tokenizer({.marks_start = true});
  const auto marks = [&](ChatMarkup markup) {
    const TokenLine line = Tokenise(Conversation({kAsk, kAnswer}), OptionsFor(tokenizer, markup));
    return std::count(line.ids.begin(), line.ids.end(), FakeTokenizer::kStartMark);
  };
  EXPECT_EQ(marks(ChatMarkup::kPlain), 1);
}

TEST(TokeniseSample, TokensStayAsTheyAre) {
  const Sample sample = {.kind = DataKind::kTokens, .tokens = {.ids = {1, 2}, .labels = {-100, 7}}};
  const TokenLine line = Tokenise(sample, {.vocab = 10, .sequence = 4});
  EXPECT_THAT(line.ids, ElementsAre(1, 2));
  EXPECT_THAT(line.labels, ElementsAre(-100, 7));
}

TEST(TokeniseSample, AnIdTheModelDoesNotHaveIsNamed) {
  const FakeTokenizer tokenizer;
  TokeniseOptions options = OptionsFor(tokenizer);
  options.vocab = 257;
  TokenLine line;
  for (const Sample& sample :
       {Conversation({kAsk, kAnswer}), Sample{.kind = DataKind::kText, .text = "<|im_end|>"}}) {
    const absl::Status status = TokeniseSample(sample, options, line);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("\"<|im_end|>\" with the id 257; the model's vocabulary has the ids 0 to "
                          "256"));
  }
}

TEST(TokeniseSample, AKindThatCannotBeTokenisedIsRefusedAtOnce) {
  const FakeTokenizer tokenizer({.tokens = 1});
  TokeniseOptions options = OptionsFor(tokenizer);
  EXPECT_THAT(std::string(CheckKind(DataKind::kQa, options).message()),
              HasSubstr("chatml needs the token \"<|im_end|>\""));
  EXPECT_TRUE(CheckKind(DataKind::kText, options).ok());
  options.chat = absl::InvalidArgumentError("no template");
  EXPECT_EQ(CheckKind(DataKind::kQa, options).message(), "no template");
  EXPECT_TRUE(CheckKind(DataKind::kText, options).ok());
  options.tokenizer = nullptr;
  EXPECT_FALSE(CheckKind(DataKind::kText, options).ok());
  EXPECT_TRUE(CheckKind(DataKind::kTokens, options).ok());
}

TEST(TokeniseSample, ATextThatCannotBeEncodedIsAnError) {
  const FakeTokenizer tokenizer;
  TokenLine line;
  EXPECT_TRUE(absl::IsResourceExhausted(
      TokeniseSample({.kind = DataKind::kText, .text = "\x01"}, OptionsFor(tokenizer), line)));
}

}  // namespace
}  // namespace horizon
