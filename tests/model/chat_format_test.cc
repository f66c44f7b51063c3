#include "model/chat_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/document.h"
#include "common/io.h"
#include "common/json.h"
#include "common/str_cat.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What is known of each model's template: the markers and literals by which it is recognised.
struct Known {
  std::string_view excerpt;
  ChatFormat format;
};
const std::map<std::string, Known>& Models() {
  static const auto& models = *new std::map<std::string, Known>{
      {"chatml",
       {"{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'}}",
        {.markup = ChatMarkup::kChatMl}}},
      {"qwen2",
       {"{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}",
        {.markup = ChatMarkup::kChatMl, .default_system = "You are a helpful assistant."}}},
      {"qwen2.5",
       {"{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }} {%- else %} "
        "{{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
        "assistant.<|im_end|>\\n' }}",
        {.markup = ChatMarkup::kChatMl,
         .default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful "
                           "assistant."}}},
      {"llama-3",
       {"'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' ... '<|eot_id|>'",
        {.markup = ChatMarkup::kLlama3}}},
      {"llama-3.2",
       {"{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }} {{- \"Cutting Knowledge Date: "
        "December 2023\\n\" }} ... {{- \"<|eot_id|>\" }}",
        {.markup = ChatMarkup::kLlama3,
         .system_preamble = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"}}},
      {"mistral-7b-v0.2",
       {"{{ '[INST] ' + message['content'] + ' [/INST]' }} ... {{ message['content'] + eos_token}}",
        {.markup = ChatMarkup::kMistral,
         .space_after_open = true,
         .space_before_close = true,
         .space_before_answer = false}}},
      {"mistral-7b-v0.3",
       {"{{- \"[INST] \" + message[\"content\"] + \"[/INST]\" }} ... "
        "{{- \" \" + message[\"content\"]|trim + eos_token}}",
        {.markup = ChatMarkup::kMistral,
         .space_after_open = true,
         .space_before_close = false,
         .space_before_answer = true}}},
      {"mistral-nemo",
       {"{{- \"[INST]\" + message[\"content\"] + \"[/INST]\" }} ... "
        "{{- message[\"content\"] + eos_token}}",
        {.markup = ChatMarkup::kMistral,
         .space_after_open = false,
         .space_before_close = false,
         .space_before_answer = false}}}};
  return models;
}

std::string Join(const std::vector<ChatSegment>& segments) {
  std::string text;
  for (const ChatSegment& segment : segments) text += segment.text;
  return text;
}

TEST(ChatFormat, FormatsAreRecognisedFromTheTemplate) {
  for (const auto& [name, known] : Models()) {
    const absl::StatusOr<ChatFormat> format = RecogniseChatFormat(known.excerpt);
    ASSERT_TRUE(format.ok()) << name << format.status();
    EXPECT_EQ(*format, known.format) << name;
  }
}

TEST(ChatFormat, OnlyALiteralIsADefaultSystemPrompt) {
  const auto system = [](std::string_view text) {
    return RecogniseChatFormat(StrCat("<|im_start|> <|im_end|> ", text))->default_system;
  };
  EXPECT_EQ(system("'<|im_start|>system\\n' + x + '<|im_end|>'"), "");
  EXPECT_EQ(system("<|im_start|>system\nreal newline<|im_end|>"), "real newline");
  EXPECT_EQ(system("<|im_start|>system\\n{{ words }}<|im_end|>"), "");
  EXPECT_EQ(system("<|im_start|>system\\nnever ended"), "");
  EXPECT_EQ(system("<|im_start|>system no newline<|im_end|>"), "");
}

TEST(ChatFormat, AnUnknownTemplateIsRefusedWithTheList) {
  for (const std::string_view text :
       {"", "{{ message }}", "<start_of_turn>user", "'[INST] <<SYS>>\\n' [/INST]",
        "[SYSTEM_PROMPT] [INST] [/INST]", "<|im_start|> alone"}) {
    const absl::Status status = RecogniseChatFormat(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("--chat-format one of chatml|llama3|mistral|plain"));
  }
}

TEST(ChatFormat, AChosenFormatIsTheTemplatesWhereTheyAgree) {
  const std::string_view qwen = Models().at("qwen2.5").excerpt;
  EXPECT_EQ(*ChooseChatFormat("auto", qwen), Models().at("qwen2.5").format);
  EXPECT_EQ(*ChooseChatFormat("chatml", qwen), Models().at("qwen2.5").format);
  EXPECT_EQ(*ChooseChatFormat("plain", qwen), ChatFormat{.markup = ChatMarkup::kPlain});
  EXPECT_EQ(*ChooseChatFormat("chatml", ""), ChatFormat{.markup = ChatMarkup::kChatMl});
  EXPECT_FALSE(ChooseChatFormat("auto", "").ok());
  EXPECT_THAT(std::string(ChooseChatFormat("chatlm", "").status().message()), HasSubstr("chatml"));
}

// The goldens come from the models' own templates (chat_goldens/make_goldens.py).
TEST(ChatFormat, RendersWhatTheModelsOwnTemplatesRender) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const auto text = ReadTextFile(*io, "tests/model/chat_goldens/goldens.json");
  ASSERT_TRUE(text.ok()) << text.status();
  const auto goldens = ParseJson("goldens.json", *text);
  ASSERT_TRUE(goldens.ok()) << goldens.status();
  int chats = 0;
  int prompts = 0;
  for (const Value& golden : *goldens->root.As<Value::Array>()) {
    const std::string& model = *golden.Find("model")->As<std::string>();
    ASSERT_TRUE(Models().count(model) == 1) << model;
    const ChatFormat& format = Models().at(model).format;
    std::vector<ChatTurn> turns;
    for (const Value& turn : *golden.Find("turns")->As<Value::Array>()) {
      const Value::Array& pair = *turn.As<Value::Array>();
      turns.push_back({.role = *ParseWord<ChatRole>(*pair[0].As<std::string>()),
                       .content = *pair[1].As<std::string>()});
    }
    if (const auto* chat = golden.Find("chat")->As<std::string>()) {
      EXPECT_EQ(Join(RenderChat(format, turns)), *chat) << model;
      ++chats;
    }
    turns.pop_back();
    if (const auto* prompt = golden.Find("prompt")->As<std::string>()) {
      EXPECT_EQ(Join(RenderChatPrompt(format, turns)), *prompt) << model;
      ++prompts;
    }
  }
  EXPECT_GE(chats, 50);
  EXPECT_GE(prompts, 50);
}

TEST(ChatFormat, SegmentsSayWhatIsMarkupAndWhatIsAnswer) {
  const std::vector<ChatTurn> turns = {{ChatRole::kUser, "U"}, {ChatRole::kAssistant, "A"}};
  using S = ChatSegment;
  EXPECT_THAT(RenderChat({.markup = ChatMarkup::kChatMl}, turns),
              ElementsAre(S{"<|im_start|>", true, false}, S{"user\nU", false, false},
                          S{"<|im_end|>", true, false}, S{"\n", false, false},
                          S{"<|im_start|>", true, false}, S{"assistant\n", false, false},
                          S{"A", false, true}, S{"<|im_end|>", true, true}, S{"\n", false, false}));
  EXPECT_THAT(
      RenderChat({.markup = ChatMarkup::kLlama3}, turns),
      ElementsAre(S{"<|begin_of_text|>", true, false}, S{"<|start_header_id|>", true, false},
                  S{"user", false, false}, S{"<|end_header_id|>", true, false},
                  S{"\n\nU", false, false}, S{"<|eot_id|>", true, false},
                  S{"<|start_header_id|>", true, false}, S{"assistant", false, false},
                  S{"<|end_header_id|>", true, false}, S{"\n\n", false, false}, S{"A", false, true},
                  S{"<|eot_id|>", true, true}));
  EXPECT_THAT(RenderChat({.markup = ChatMarkup::kMistral}, turns),
              ElementsAre(S{"<s>", true, false}, S{"[INST]", true, false}, S{" U", false, false},
                          S{"[/INST]", true, false}, S{" A", false, true}, S{"</s>", true, true}));
  EXPECT_THAT(RenderChat({.markup = ChatMarkup::kPlain}, turns),
              ElementsAre(S{"U\n", false, false}, S{"A", false, true}, S{"", true, true}));
}

TEST(ChatFormat, APromptIsWhatTheChatBeginsWith) {
  const std::vector<ChatTurn> turns = {{ChatRole::kSystem, "S"},
                                       {ChatRole::kUser, "U"},
                                       {ChatRole::kAssistant, "A"},
                                       {ChatRole::kUser, "V"},
                                       {ChatRole::kAssistant, "B"}};
  std::vector<ChatFormat> formats = {{.markup = ChatMarkup::kPlain}};
  for (const auto& [name, known] : Models()) formats.push_back(known.format);
  for (const ChatFormat& format : formats) {
    const std::vector<ChatSegment> chat = RenderChat(format, turns);
    for (const size_t asked : {2u, 4u}) {
      const std::vector<ChatSegment> prompt =
          RenderChatPrompt(format, std::span(turns).first(asked));
      ASSERT_LT(prompt.size(), chat.size());
      for (size_t i = 0; i < prompt.size(); ++i) EXPECT_EQ(prompt[i], chat[i]);
      // An answer follows, and then the token that ends it.
      EXPECT_TRUE(chat[prompt.size()].is_answer);
      EXPECT_EQ(chat[prompt.size() + 1].text, EndOfAnswer(format));
      EXPECT_TRUE(chat[prompt.size() + 1].is_answer);
    }
  }
}

TEST(ChatFormat, MissingTokensAreNamed) {
  EXPECT_TRUE(CheckChatTokens({.markup = ChatMarkup::kPlain}, FakeTokenizer({.tokens = 0})).ok());
  for (const auto& [tokens, markup, missing] :
       std::vector<std::tuple<size_t, ChatMarkup, std::string_view>>{
           {0, ChatMarkup::kChatMl, "\"<|im_start|>\""},
           {1, ChatMarkup::kChatMl, "\"<|im_end|>\""},
           {2, ChatMarkup::kLlama3, "\"<|begin_of_text|>\""},
           {5, ChatMarkup::kLlama3, "\"<|eot_id|>\""},
           {7, ChatMarkup::kMistral, "\"</s>\""}}) {
    const absl::Status status =
        CheckChatTokens({.markup = markup}, FakeTokenizer({.tokens = tokens}));
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(missing)));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--chat-format"));
    EXPECT_TRUE(CheckChatTokens({.markup = markup}, FakeTokenizer()).ok());
  }
}

}  // namespace
}  // namespace horizon
