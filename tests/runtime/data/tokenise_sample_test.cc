#include "runtime/data/tokenise_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/text/str_cat.h"
#include "tests/runtime/data/fake_chat.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Tokens = Tokenizer::SpecialTokens;

TokeniseOptions OptionsFor(const FakeChat& chat) {
  return {.tokenizer = &chat.tokenizer(),
          .end_id = FakeTokenizer::kEnd,
          .chat = chat.encoder(),
          .vocab = FakeTokenizer::kVocab,
          .sequence = 1000};
}

Sample Chat(std::vector<std::pair<std::string_view, std::string_view>> messages) {
  return {.kind = DataKind::kMessages, .conversation = TextConversation(messages)};
}
Sample Completion(std::string_view prompt, std::string_view completion) {
  return {.kind = DataKind::kPromptCompletion,
          .text = StrCat(prompt, completion),
          .prompt_bytes = prompt.size()};
}

TokenLine Tokenise(const Sample& sample, const TokeniseOptions& options) {
  TokenLine line = {.ids = {1, 2}, .labels = {3}};
  EXPECT_TRUE(CheckKind(sample.kind, options).ok());
  const absl::Status status = TokeniseSample(sample, options, line);
  EXPECT_TRUE(status.ok()) << status;
  return line;
}

// The text of all tokens, and of those that are trained.
std::string Spell(const std::vector<int32_t>& ids) {
  return FakeTokenizer().Decode(ids, Tokens::kSpell);
}
std::string Trained(const TokenLine& line) {
  EXPECT_EQ(line.labels.size(), line.ids.size());
  std::vector<int32_t> trained;
  for (size_t i = 0; i < line.labels.size(); ++i) {
    EXPECT_TRUE(line.labels[i] == -100 || line.labels[i] == line.ids[i]);
    if (line.labels[i] >= 0) trained.push_back(line.labels[i]);
  }
  return Spell(trained);
}

TEST(TokeniseSample, ADocumentHasPrefixTextAndEnd) {
  const FakeChat chat("plain", {.marks_start = true, .prefix = {258}});
  TokeniseOptions options = OptionsFor(chat);
  const TokenLine line = Tokenise({.kind = DataKind::kText, .text = "a<|im_end|>"}, options);
  EXPECT_THAT(line.ids, ElementsAre(258, FakeTokenizer::kStartMark, 'a', 257, FakeTokenizer::kEnd));
  EXPECT_TRUE(line.labels.empty());
  options.end_id.reset();
  EXPECT_THAT(Tokenise({.kind = DataKind::kText, .text = "a"}, options).ids,
              ElementsAre(258, FakeTokenizer::kStartMark, 'a'));
  EXPECT_TRUE(Tokenise({.kind = DataKind::kText, .text = ""}, options).ids.empty());
}

TEST(TokeniseSample, PiecesOfATextAreOneText) {
  const FakeChat chat("plain", {.marks_start = true, .prefix = {258}});
  const TokeniseOptions options = OptionsFor(chat);
  TokenLine line;
  ASSERT_TRUE(TokenisePiece({.text = "a"}, options, line).ok());
  EXPECT_THAT(line.ids, ElementsAre(258, FakeTokenizer::kStartMark, 'a'));
  ASSERT_TRUE(TokenisePiece({.text = "b", .continues = true}, options, line).ok());
  EXPECT_THAT(line.ids, ElementsAre('b'));
  EndText(options, line);
  EXPECT_THAT(line.ids, ElementsAre('b', FakeTokenizer::kEnd));
}

TEST(TokeniseSample, OnlyAnswersAndTheirEndsAreLearntUnlessAllIs) {
  const FakeChat chat("chatml");
  TokeniseOptions options = OptionsFor(chat);
  const Sample sample = Chat({{"user", "U"}, {"assistant", "A"}});
  const TokenLine line = Tokenise(sample, options);
  EXPECT_EQ(Spell(line.ids), "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n");
  EXPECT_EQ(Trained(line), "A<|im_end|>");
  EXPECT_EQ(line.last_end, static_cast<int64_t>(line.ids.size()) - 2);
  options.train_on_prompt = true;
  const TokenLine whole = Tokenise(sample, options);
  EXPECT_EQ(whole.ids, line.ids);
  EXPECT_EQ(whole.labels, line.ids);
}

TEST(TokeniseSample, AChatWithoutAnEndSaysSo) {
  const FakeChat chat("{% for m in messages %}{{ m.content }}{% endfor %}");
  const TokenLine line = Tokenise(Chat({{"user", "U"}, {"assistant", "A"}}), OptionsFor(chat));
  EXPECT_EQ(line.last_end, TokenLine::kNoEnd);
  EXPECT_EQ(Trained(line), "A");
}

TEST(TokeniseSample, PromptAndCompletionAreOneTextAsItIs) {
  const FakeChat chat("plain", {.marks_start = true, .prefix = {258}});
  TokeniseOptions options = OptionsFor(chat);
  TokenLine line = Tokenise(Completion("Q:", " A"), options);
  EXPECT_THAT(line.ids,
              ElementsAre(258, FakeTokenizer::kStartMark, 'Q', ':', ' ', 'A', FakeTokenizer::kEnd));
  EXPECT_EQ(Trained(line), " A<|end|>");
  EXPECT_EQ(line.last_end, 6);
  // A completion that brings its end has one, and a prompt's is not the completion's.
  line = Tokenise(Completion("Q", "A<|end|>"), options);
  EXPECT_EQ(Spell(line.ids), "<|begin_of_text|>QA<|end|>");
  line = Tokenise(Completion("Q<|end|>", ""), options);
  EXPECT_EQ(Spell(line.ids), "<|begin_of_text|>Q<|end|><|end|>");
  EXPECT_EQ(Trained(line), "<|end|>");
  options.train_on_prompt = true;
  line = Tokenise(Completion("Q", "A"), options);
  EXPECT_EQ(line.labels, line.ids);
  options.end_id.reset();
  EXPECT_EQ(Tokenise(Completion("Q", "A"), options).last_end, TokenLine::kNoEnd);
}

TEST(TokeniseSample, PromptAndCompletionOfMessagesNeedATemplate) {
  const FakeChat chat("chatml");
  TokeniseOptions options = OptionsFor(chat);
  Sample sample = Chat({{"user", "U"}, {"assistant", "A"}});
  sample.kind = DataKind::kPromptCompletion;
  EXPECT_EQ(Trained(Tokenise(sample, options)), "A<|im_end|>");
  options.chat = absl::InvalidArgumentError("no template");
  TokenLine line;
  EXPECT_EQ(TokeniseSample(sample, options, line).message(), "no template");
  EXPECT_EQ(Trained(Tokenise(Completion("Q", "A"), options)), "A<|end|>");
}

TEST(TokeniseSample, ARecordThatTheTemplateRefusesIsRefused) {
  const FakeChat chat("{{ raise_exception('no ' + messages[0].role) }}");
  TokenLine line;
  const absl::Status status =
      TokeniseSample(Chat({{"tool", "U"}, {"assistant", "A"}}), OptionsFor(chat), line);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no tool"));
}

TEST(TokeniseSample, TokensStayAsTheyAre) {
  const Sample sample = {.kind = DataKind::kTokens, .tokens = {.ids = {1, 2}, .labels = {-100, 7}}};
  const TokenLine line = Tokenise(sample, {.vocab = 10, .sequence = 4});
  EXPECT_THAT(line.ids, ElementsAre(1, 2));
  EXPECT_THAT(line.labels, ElementsAre(-100, 7));
}

TEST(TokeniseSample, AnIdTheModelDoesNotHaveIsNamed) {
  const FakeChat chat("chatml");
  TokeniseOptions options = OptionsFor(chat);
  options.vocab = 257;
  TokenLine line;
  for (const Sample& sample :
       {Chat({{"user", "U"}, {"assistant", "A"}}), Completion("<|im_end|>", ""),
        Sample{.kind = DataKind::kText, .text = "<|im_end|>"}}) {
    const absl::Status status = TokeniseSample(sample, options, line);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("\"<|im_end|>\" with the id 257; the model's vocabulary has the ids 0 to "
                          "256"));
  }
}

TEST(TokeniseSample, AKindThatCannotBeTokenisedIsRefusedAtOnce) {
  const FakeChat chat("plain");
  TokeniseOptions options = OptionsFor(chat);
  EXPECT_TRUE(CheckKind(DataKind::kQa, options).ok());
  options.chat = absl::InvalidArgumentError("no template");
  EXPECT_EQ(CheckKind(DataKind::kQa, options).message(), "no template");
  EXPECT_TRUE(CheckKind(DataKind::kText, options).ok());
  // Strings need no template; lists are found out record by record.
  EXPECT_TRUE(CheckKind(DataKind::kPromptCompletion, options).ok());
  options.tokenizer = nullptr;
  EXPECT_FALSE(CheckKind(DataKind::kText, options).ok());
  EXPECT_TRUE(CheckKind(DataKind::kTokens, options).ok());
}

TEST(TokeniseSample, ATextThatCannotBeEncodedIsAnError) {
  const FakeChat chat("plain");
  TokenLine line;
  for (const Sample& sample :
       {Sample{.kind = DataKind::kText, .text = "\x01"},
        Chat({{"user", "\x01"}, {"assistant", "A"}}), Completion("a", "\x01")}) {
    EXPECT_TRUE(absl::IsResourceExhausted(TokeniseSample(sample, OptionsFor(chat), line)));
  }
}

}  // namespace
}  // namespace horizon
