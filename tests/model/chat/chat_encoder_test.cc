#include "model/chat/chat_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/model/tokenizer/golden_tokenizers.h"
#include "tests/runtime/data/fake_chat.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kChatMl =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// The spelled tokens, those that are trained between '{' and '}'; or "error: ...".
std::string Marked(const FakeChat& chat, const Conversation& conversation) {
  if (!chat.status().ok()) return StrCat("error: ", chat.status().message());
  const absl::StatusOr<ChatTokens> tokens = chat.encoder().EncodeForTraining(conversation);
  if (!tokens.ok()) return StrCat("error: ", tokens.status().message());
  std::string text;
  bool trained = false;
  for (size_t i = 0; i <= tokens->ids.size(); ++i) {
    const bool now = i < tokens->ids.size() && tokens->mask.trained[i];
    if (now != trained) text += now ? '{' : '}';
    trained = now;
    if (i == tokens->ids.size()) break;
    const int32_t id = tokens->ids[i];
    text += id < 256 ? std::string(1, static_cast<char>(id))
                     : std::string(chat.tokenizer().TokenOf(id));
  }
  return text;
}

std::string Marked(std::string_view how, const Conversation& conversation) {
  return Marked(FakeChat(how), conversation);
}

Conversation FromJson(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("test", text);
  EXPECT_TRUE(document.ok()) << document.status();
  Conversation conversation;
  for (const Value& message : *document->root.As<Value::Array>()) {
    ChatMessage own = {.fields = *message.As<Value::Object>()};
    own.trained = own.role() == "assistant";
    conversation.messages.push_back(std::move(own));
  }
  return conversation;
}

const Conversation kTwo = TextConversation(
    {{"system", "S"}, {"user", "U"}, {"assistant", "A"}, {"user", "V"}, {"assistant", "B"}});

TEST(ChatEncoder, AnswersAndTheirEndsAreLearntAndTheNewlineBehindIsNot) {
  EXPECT_EQ(
      Marked(kChatMl, kTwo),
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
      "{A<|im_end|>}\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n{B<|im_end|>}\n");
}

TEST(ChatEncoder, BuiltInFormatsAreWrittenAsTheirModelsDo) {
  EXPECT_EQ(Marked("chatml", kTwo), Marked(kChatMl, kTwo));
  EXPECT_EQ(Marked("llama3", TextConversation({{"user", " U "}, {"assistant", "A\n"}})),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n{A<|eot_id|>}");
  EXPECT_EQ(Marked("mistral", kTwo),
            "<s>[INST] U[/INST]{ A<|end|>}[INST] S\n\nV[/INST]{ B<|end|>}");
  EXPECT_EQ(Marked("plain", kTwo), "S\nU\n{A<|end|>}V\n{B<|end|>}");
}

TEST(ChatEncoder, ABuiltInFormatBeginsAsTheTokenizerDoes) {
  const FakeChat chat("chatml", {.prefix = {258}});
  EXPECT_THAT(Marked(chat, kTwo), testing::StartsWith("<|begin_of_text|><|im_start|>system"));
}

TEST(ChatEncoder, TheBeginOfTextIsWhatTheTemplateWritesAndNoOther) {
  const FakeChat own(StrCat("{{ bos_token }}", kChatMl), {.prefix = {262}});
  EXPECT_THAT(Marked(own, kTwo), testing::StartsWith("<s><|im_start|>system"));
  const FakeChat none(kChatMl, {.prefix = {262}});
  EXPECT_THAT(Marked(none, kTwo), testing::StartsWith("<|im_start|>system"));
}

TEST(ChatEncoder, LiteralsOfAnAnswerAreLearnt) {
  constexpr std::string_view kThinks =
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}"
      "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{{ m.content + '<|im_end|>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}";
  EXPECT_EQ(Marked(kThinks, TextConversation({{"user", "U"}, {"assistant", "A"}})),
            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
            "{<think>\n\n</think>\n\nA<|im_end|>}\n");
}

TEST(ChatEncoder, GenerationBlocksDecideAlone) {
  constexpr std::string_view kGenerates =
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}"
      "{% generation %}{{ m.content }}{% endgeneration %}{{ '<|im_end|>' }}"
      "{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{% endfor %}";
  const Conversation chat = TextConversation({{"user", "U"}, {"assistant", "A"}});
  EXPECT_EQ(Marked(kGenerates, chat),
            "<|im_start|>user\nU<|im_end|><|im_start|>assistant\n{A}<|im_end|>");
  EXPECT_FALSE(FakeChat(kGenerates).encoder().EncodeForTraining(chat)->mask.last_end.has_value());
  Conversation not_trained = chat;
  not_trained.messages[1].trained = false;
  EXPECT_EQ(Marked(kGenerates, not_trained),
            "<|im_start|>user\nU<|im_end|><|im_start|>assistant\nA<|im_end|>");
}

TEST(ChatEncoder, AMessageThatIsNotToBeLearntIsNot) {
  Conversation chat = kTwo;
  chat.messages[2].trained = false;
  EXPECT_EQ(Marked("plain", chat), "S\nU\nA<|end|>V\n{B<|end|>}");
}

TEST(ChatEncoder, EmptyAnswersAreLearntToEnd) {
  const Conversation chat = TextConversation({{"user", "U"}, {"assistant", ""}});
  EXPECT_THAT(Marked(kChatMl, chat), HasSubstr("assistant\n{<|im_end|>}\n"));
  EXPECT_EQ(Marked("plain", chat), "U\n{<|end|>}");
  EXPECT_EQ(Marked("mistral", chat), "<s>[INST] U[/INST]{ <|end|>}");
}

TEST(ChatEncoder, AnAnswerMayEndWhereTheNextMessageBegins) {
  // As GLM-4 does: the next role's token ends an answer.
  constexpr std::string_view kNextEnds =
      "{% for m in messages %}{{ ('<s>' if m.role == 'system' else '<|eot_id|>' if m.role == "
      "'user' "
      "else '<|im_start|>') + m.content }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>' }}{% endif %}";
  const FakeChat chat(kNextEnds);
  EXPECT_EQ(Marked(chat, kTwo), "<s>S<|eot_id|>U<|im_start|>{A<|eot_id|>}V<|im_start|>{B}");
  const Conversation one = TextConversation({{"user", "U"}, {"assistant", "A"}});
  EXPECT_FALSE(chat.encoder().EncodeForTraining(one)->mask.last_end.has_value());
  // A token that begins texts ends none.
  EXPECT_EQ(Marked("{% for m in messages %}{{ bos_token + m.content }}{% endfor %}",
                   TextConversation({{"assistant", "A"}, {"user", "U"}})),
            "{<s>A}<s>U");
}

TEST(ChatEncoder, AnEndBehindAllMessagesIsTheLastAnswers) {
  EXPECT_EQ(Marked("{% for m in messages %}{{ m.content }} {% endfor %}{{ eos_token }}",
                   TextConversation({{"user", "U"}, {"assistant", "A"}})),
            "U {A <|end|>}");
}

TEST(ChatEncoder, OtherSpecialTokensBehindAToolCallDoNotEndIt) {
  constexpr std::string_view kCalls =
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{{ m.content if m.content }}"
      "{% for c in m.tool_calls or [] %}{{ '<|start_header_id|>' + (c | tojson) + "
      "'<|end_header_id|>' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const Conversation chat = FromJson(
      R"([{"role": "user", "content": "U"}, {"role": "assistant", "tool_calls": [{"name": "f"}]},
          {"role": "tool", "content": "T"}, {"role": "assistant", "content": "A"}])");
  EXPECT_EQ(Marked(kCalls, chat),
            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n{<|start_header_id|>"
            "{\"name\": \"f\"}<|end_header_id|><|im_end|>}\n<|im_start|>tool\nT<|im_end|>\n"
            "<|im_start|>assistant\n{A<|im_end|>}\n");
}

TEST(ChatEncoder, WhatToolsAnswerIsNotLearntWhereverItIsWritten) {
  // As Gemma 4's: the results stand in the turn of the message that called.
  constexpr std::string_view kLooksAhead =
      "{% for m in messages %}{% if m.role != 'tool' %}{{ '<|im_start|>' + m.role + '\\n' }}"
      "{{ m.content if m.content }}{% if m.tool_calls %}{{ '<|start_header_id|>' + "
      "m.tool_calls[0].name + '<|end_header_id|>' }}{% if not loop.last %}{{ '<|eot_id|>' + "
      "m.tool_calls[0].name + messages[loop.index].content + '<|eot_id|>' }}{% endif %}{% endif %}"
      "{{ '<|im_end|>\\n' }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const Conversation chat = FromJson(
      R"([{"role": "user", "content": "U"}, {"role": "assistant", "tool_calls": [{"name": "f"}]},
          {"role": "tool", "content": "T"}, {"role": "assistant", "content": "A"}])");
  EXPECT_EQ(Marked(kLooksAhead, chat),
            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n{<|start_header_id|>f"
            "<|end_header_id|>}<|eot_id|>fT<|eot_id|><|im_end|>\n<|im_start|>assistant\n"
            "{A<|im_end|>}\n");
}

TEST(ChatEncoder, MarkupOfAnAnswerIsLearntWhereATemplateGoesThroughNumbersOfMessages) {
  // As EXAONE 4's, and like Mistral's new ones, which go through copies.
  constexpr std::string_view kNumbers =
      "{% for i in range(messages|length) %}{% set m = messages[i] %}{{ '<|im_start|>' }}"
      "{{ m.role }}{{ '\\n' }}{% if m.tool_calls %}{{ '<|start_header_id|>{\"name\": \"' }}"
      "{{ m.tool_calls[0].name }}{{ '\", \"x\": \"' }}{{ m.tool_calls[0].x }}{{ '\"}' }}{% else %}"
      "{{ m.content }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const Conversation chat = FromJson(
      R"([{"role": "user", "content": "U"}, {"role": "assistant", "tool_calls": [{"name": "f", "x": "1"}]},
          {"role": "tool", "content": "T"}, {"role": "assistant", "content": "A"}])");
  EXPECT_EQ(Marked(kNumbers, chat),
            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n{<|start_header_id|>{\"name\": "
            "\"f\", \"x\": \"1\"}<|im_end|>}\n<|im_start|>tool\nT<|im_end|>\n"
            "<|im_start|>assistant\n{A<|im_end|>}\n");
}

TEST(ChatEncoder, QuotedControlTokensAreText) {
  const FakeChat chat(kChatMl);
  const Conversation quotes = TextConversation(
      {{"user", "say <|im_end|><think>"}, {"assistant", "<|im_end|> <|im_start|>user"}});
  const absl::StatusOr<ChatTokens> tokens = chat.encoder().EncodeForTraining(quotes);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(std::count(tokens->ids.begin(), tokens->ids.end(), 256), 2);
  EXPECT_EQ(std::count(tokens->ids.begin(), tokens->ids.end(), 257), 2);
  // An added token that is not special is one in text as well, unless the template spells it.
  EXPECT_EQ(std::count(tokens->ids.begin(), tokens->ids.end(), 265), 1);
  const FakeChat spells(StrCat("{# #}{% if false %}<think>{% endif %}", kChatMl));
  const absl::StatusOr<ChatTokens> guarded = spells.encoder().EncodeForTraining(quotes);
  ASSERT_TRUE(guarded.ok());
  EXPECT_EQ(std::count(guarded->ids.begin(), guarded->ids.end(), 265), 0);
}

TEST(ChatEncoder, ControlTokensThatTheModelListsReplaceThoseOfTheTemplate) {
  ModelTokenizer model;
  model.tokenizer = std::make_unique<FakeTokenizer>();
  model.chat_templates = {{"default", "{% for m in messages %}{{ m.content }}{% endfor %}", "a"}};
  const Conversation quotes = TextConversation({{"user", "<think>"}, {"assistant", "A"}});
  const auto count = [&] {
    const absl::StatusOr<ChatEncoder> chat = MakeChatEncoder(model, {});
    const absl::StatusOr<ChatTokens> tokens = chat->EncodeForTraining(quotes);
    return std::count(tokens->ids.begin(), tokens->ids.end(), 265);
  };
  EXPECT_EQ(count(), 1);
  model.chat_control_tokens = {"<think>"};
  EXPECT_EQ(count(), 0);
}

TEST(ChatEncoder, TokensBuiltFromARoleAreTokens) {
  const FakeChat chat("{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}");
  const absl::StatusOr<EncodedChat> encoded =
      chat.encoder().Encode(TextConversation({{"im_start", "x"}}), GenerationPrompt::kWithout);
  ASSERT_TRUE(encoded.ok());
  EXPECT_THAT(encoded->ids, ElementsAre(256, 'x'));
}

TEST(ChatEncoder, TheEndOfAnAnswerIsKnown) {
  EXPECT_EQ(FakeChat(kChatMl).encoder().EndOfAnswer(), 257);
  EXPECT_EQ(FakeChat("llama3").encoder().EndOfAnswer(), 261);
  EXPECT_EQ(FakeChat("plain").encoder().EndOfAnswer(), FakeTokenizer::kEnd);
  EXPECT_EQ(FakeChat("{% for m in messages %}{{ m.content }}{% endfor %}").encoder().EndOfAnswer(),
            std::nullopt);
  EXPECT_EQ(FakeChat("{{ raise_exception('no') }}").encoder().EndOfAnswer(), std::nullopt);
}

// Mistral v0.1 and v0.2: [INST] is no token, and its first piece has the space that SentencePiece
// puts before a word. The ids are those that transformers has for the whole text.
TEST(ChatEncoder, AWholeTextIsEncodedSoThatWordsKeepTheSpaceBefore) {
  ModelTokenizer model;
  model.tokenizer = ReadGoldenTokenizer("chat_mistral1");
  model.begin_id = model.tokenizer->IdOf("<s>");
  model.end_id = model.tokenizer->IdOf("</s>");
  model.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  model.chat_templates = {
      {"default",
       "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + "
       "' [/INST]' }}{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}",
       "chat.jinja"}};
  const absl::StatusOr<ChatEncoder> chat = MakeChatEncoder(model, {});
  ASSERT_TRUE(chat.ok()) << chat.status();
  const absl::StatusOr<ChatTokens> tokens =
      chat->EncodeForTraining(TextConversation({{"user", "x"}, {"assistant", "y"}}));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  // "<s>[INST] x [/INST] y</s>" of goldens/chat_mistral1/chats.json.
  EXPECT_THAT(tokens->ids, ElementsAre(1, 310, 94, 76, 81, 86, 87, 96, 310, 297, 310, 94, 266, 76,
                                       81, 86, 87, 96, 310, 298, 2));
  const std::vector<bool>& mask = tokens->mask.trained;
  EXPECT_EQ(std::count(mask.begin(), mask.end(), true), 3);
  EXPECT_TRUE(mask[18] && mask[19] && mask[20]);
  EXPECT_EQ(tokens->mask.last_end, 20u);
}

TEST(ChatEncoder, WhatCannotBeChosenIsRefused) {
  const auto error = [](const ModelTokenizer& model, const ChatChoice& choice) {
    return std::string(MakeChatEncoder(model, choice).status().message());
  };
  ModelTokenizer model;
  EXPECT_THAT(error(model, {}), HasSubstr("--tokenizer byte"));
  model.tokenizer = std::make_unique<FakeTokenizer>(FakeTokenizer::Options{.tokens = 1});
  EXPECT_THAT(error(model, {}), HasSubstr("no chat template"));
  EXPECT_THAT(error(model, {.format = "chatml"}), HasSubstr("needs the token \"<|im_end|>\""));
  EXPECT_THAT(error(model, {.format = "mistral"}), HasSubstr("a token that begins a text"));
  EXPECT_THAT(error(model, {.format = "chatty"}), HasSubstr("chatml|llama3|mistral|plain"));
  EXPECT_THAT(error(model, {.format = "plain", .own = ChatTemplateText{"default", "x", "f"}}),
              AllOf(HasSubstr("--chat-format"), HasSubstr("--chat-template")));
  EXPECT_EQ(error(model, {.own = ChatTemplateText{"default", "x", "f"}}), "");
}

TEST(ChatEncoder, BuiltInFormatsRefuseWhatTheyCannotWrite) {
  Conversation tools = kTwo;
  tools.tools = Value(Value::Array{Value(Value::Object(), 1)}, 1);
  EXPECT_THAT(Marked("chatml", tools), HasSubstr("does not write tools"));
  const Conversation calls = FromJson(
      R"([{"role": "user", "content": "U"}, {"role": "assistant", "content": "A", "tool_calls": [1]}])");
  EXPECT_THAT(Marked("llama3", calls), HasSubstr("does not write tool calls"));
  const Conversation parts = FromJson(R"([{"role": "user", "content": ["x"]}])");
  EXPECT_THAT(Marked("plain", parts), HasSubstr("a string only"));
  EXPECT_THAT(Marked("mistral", TextConversation({{"tool", "T"}})), HasSubstr("assistant only"));
}

}  // namespace
}  // namespace horizon
