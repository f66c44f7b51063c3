#include "model/chat_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "common/document.h"
#include "common/io.h"
#include "common/json.h"
#include "common/str_cat.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The format of each model that has goldens.
const std::map<std::string, ChatFormat>& Models() {
  static const ChatFormat kChatMl = {.markup = ChatMarkup::kChatMl, .takes_prefix = false};
  static const ChatFormat kQwen3 = {
      .markup = ChatMarkup::kChatMl, .thinks = true, .takes_prefix = false};
  static const ChatFormat kLlamaDates = {
      .markup = ChatMarkup::kLlama3,
      .system_preamble = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"};
  static const auto& models = *new std::map<std::string, ChatFormat>{
      {"chatml", kChatMl},
      {"openhermes", kChatMl},
      {"qwen2-vl",
       {.markup = ChatMarkup::kChatMl,
        .default_system = "You are a helpful assistant.",
        .takes_prefix = false}},
      {"qwen2.5",
       {.markup = ChatMarkup::kChatMl,
        .default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
        .takes_prefix = false}},
      {"qwen3", kQwen3},
      {"qwen3-trl", kQwen3},
      {"qwen3-2507", kChatMl},
      {"llama-3", {.markup = ChatMarkup::kLlama3}},
      {"llama-3.1", kLlamaDates},
      {"llama-3.2", kLlamaDates},
      {"llama-3.3", kLlamaDates},
      {"mistral-7b-v0.2",
       {.markup = ChatMarkup::kMistral,
        .space_before_close = true,
        .space_before_answer = false,
        .trims_answer = false,
        .system_in_last_question = false}},
      {"mistral-v1",
       {.markup = ChatMarkup::kMistral,
        .space_before_open = true,
        .space_before_close = true,
        .trims_answer = false,
        .system_in_last_question = false}},
      {"mistral-v3", {.markup = ChatMarkup::kMistral}},
      {"mistral-nemo",
       {.markup = ChatMarkup::kMistral,
        .space_after_open = false,
        .space_before_answer = false,
        .trims_answer = false}}};
  return models;
}

// Published templates are not ours to keep. These have the statements of each that decide how it
// writes a conversation; chat_goldens/make_goldens.py tells where the whole ones are.
constexpr std::string_view kLlamaTurn =
    "{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | "
    "trim + '<|eot_id|>' }}";
constexpr std::string_view kLlamaDates =
    "{%- set date_string = \"26 Jul 2024\" %} {{- \"Cutting Knowledge Date: December 2023\\n\" }}\n"
    "{{- \"Today Date: \" + date_string + \"\\n\\n\" }}";
constexpr std::string_view kChatMlTurn =
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}";
constexpr std::string_view kChatMlPrompt = "{{- '<|im_start|>assistant\\n' }}";
constexpr std::string_view kQwen3Answer =
    "{%- if loop.index0 > ns.last_query_index %}\n"
    "{%- if loop.last or (not loop.last and reasoning_content) %}\n"
    "{{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + "
    "'\\n</think>\\n\\n' + content.lstrip('\\n') }}";
constexpr std::string_view kQwen3NoThinking = "{{- '<think>\\n\\n</think>\\n\\n' }}";

const std::map<std::string, std::string>& Statements() {
  static const auto& statements = *new std::map<std::string, std::string>{
      {"chatml", StrCat(kChatMlTurn, kChatMlPrompt)},
      {"openhermes",
       "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"},
      {"qwen2-vl",
       "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>{{ message['role'] "
       "}}\n{{ message['content'] }}<|im_end|>\n"},
      {"qwen2.5",
       StrCat("{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}",
              "{{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
              "assistant.<|im_end|>\\n' }}",
              kChatMlTurn, kChatMlPrompt)},
      {"qwen3", StrCat(kChatMlTurn, kQwen3Answer, kChatMlPrompt, kQwen3NoThinking)},
      {"qwen3-2507",
       StrCat("{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}", kChatMlTurn,
              kChatMlPrompt)},
      {"llama-3", std::string(kLlamaTurn)},
      {"llama-3.1", StrCat(kLlamaTurn, kLlamaDates)},
      {"mistral-7b-v0.2",
       "{{ '[INST] ' + message['content'] + ' [/INST]' }}{{ message['content'] + eos_token}}"},
      {"mistral-v1",
       "{{- ' [INST] ' + message['content'] + ' [/INST]' }}{{- ' ' + message['content'] + "
       "eos_token}}"},
      {"mistral-v3",
       "{%- if loop.last and system_message is defined %}{{- \"[INST] \" + system_message + "
       "\"\\n\\n\" + content + \"[/INST]\" }}{%- else %}{{- \"[INST] \" + content + \"[/INST]\" "
       "}}{{- \" \" + content|trim + eos_token }}"},
      {"mistral-nemo",
       "{%- if loop.last and system_message is defined %}{{- \"[INST]\" + message[\"content\"] + "
       "\"[/INST]\" }}{{- message[\"content\"] + eos_token}}"}};
  return statements;
}

std::string Join(const std::vector<ChatSegment>& segments) {
  std::string text;
  for (const ChatSegment& segment : segments) text += segment.text;
  return text;
}

TEST(ChatFormat, FormatsAreRecognisedFromTheStatementsOfPublishedTemplates) {
  for (const auto& [name, text] : Statements()) {
    const absl::StatusOr<ChatFormat> format = RecogniseChatFormat(text);
    ASSERT_TRUE(format.ok()) << name << format.status();
    EXPECT_EQ(*format, Models().at(name)) << name;
  }
}

TEST(ChatFormat, TemplatesThatAreNotFollowedAreRefusedWithTheReason) {
  const std::string turn(kChatMlTurn);
  for (const auto& [text, reason] : std::map<std::string, std::string_view>{
           {turn + "{{ '<think>\\n' + thoughts + '</think>' }}", "it writes reasoning (</think>)"},
           {turn + "{{- '<|im_start|>assistant\\n<think>\\n' }}{% if '</think>' in content %}",
            "it writes reasoning (</think>)"},
           {turn + "{{ \"<|im_start|>system\\nYou can use a computer.\" }}",
            "it says words of its own in the system's turn"},
           {"{{ '<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>\\n' }}",
            "it separates roles by <|im_sep|>"},
           {"{{ '[SYSTEM_PROMPT]' + system_message }}{{ '[INST]' + content + '[/INST]' }}",
            "it writes [SYSTEM_PROMPT]"},
           {"{{ '<|start|>user<|message|>' + content + '<|end|>' }}",
            "it has the tokens of no format that horizon knows"}}) {
    const absl::Status status = RecogniseChatFormat(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason))) << text;
    // Asked for, the format is there without what the template adds.
    EXPECT_EQ(*ChooseChatFormat("chatml", text), ChatFormat{.markup = ChatMarkup::kChatMl});
  }
}

TEST(ChatFormat, ATemplateThatDiffersInOneStatementIsRefused) {
  const auto changed = [](std::string text, std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    CHECK(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::string qwen3 = Statements().at("qwen3");
  const std::string v3 = Statements().at("mistral-v3");
  const std::string llama = StrCat(kLlamaTurn, kLlamaDates);
  for (const std::string& text : {
           changed(qwen3, "reasoning_content.strip('\\n')", "reasoning_content"),
           changed(qwen3, "loop.index0 > ns.last_query_index", "true"),
           changed(qwen3, "loop.last or (not loop.last and reasoning_content)", "true"),
           changed(qwen3, "{{- '<|im_start|>assistant\\n' }}",
                   "{{- '<|im_start|>assistant\\n<t>' }}"),
           changed(qwen3, "'<think>\\n\\n</think>\\n\\n'", "'<think>\\n'"),
           changed(v3, "\"[INST] \" + content", "\"[INST]\" + content"),
           changed(v3, "content + \"[/INST]\"", "content + \" [/INST]\""),
           changed(v3, "\" \" + content|trim + eos_token", "content|trim + eos_token"),
           changed(llama, "| trim ", ""),
           changed(llama, "set date_string", "set another"),
           changed(llama, "December 2023\\n", "December 2023"),
           changed(llama, "date_string + \"\\n\\n\"", "date_string"),
           std::string("{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
                       "'<|im_end|>'}}"),
       }) {
    EXPECT_FALSE(RecogniseChatFormat(text).ok()) << text;
  }
}

TEST(ChatFormat, SpellingOfATemplateDoesNotMatter) {
  for (const std::string_view text :
       {"{{'<|im_start|>'+message.role+'\\n'+message.content+'<|im_end|>\\n'}}",
        "{{- \"<|im_start|>\" + message[\"role\"] + \"\n\" + x + \"<|im_end|>\" + \"\n\" -}}",
        "{#- it's a comment with </think> -#}<|im_start|>{{ message.role }}\n{{ x "
        "}}<|im_end|>\n"}) {
    const absl::StatusOr<ChatFormat> format = RecogniseChatFormat(text);
    ASSERT_TRUE(format.ok()) << format.status();
    EXPECT_EQ(*format, Models().at("chatml"));
  }
  const std::string v3 = Statements().at("mistral-v3");
  std::string single_quotes = v3;
  std::replace(single_quotes.begin(), single_quotes.end(), '"', '\'');
  EXPECT_EQ(*RecogniseChatFormat(single_quotes), *RecogniseChatFormat(v3));
}

TEST(ChatFormat, ATemplateThatSaysTheBeginOfTextTakesTheTokenizersPrefix) {
  const std::string text = Statements().at("chatml");
  EXPECT_FALSE(TakesPrefix(*RecogniseChatFormat(text)));
  EXPECT_TRUE(TakesPrefix(*RecogniseChatFormat("{{ bos_token }}" + text)));
  EXPECT_TRUE(TakesPrefix({.markup = ChatMarkup::kChatMl}));
  EXPECT_TRUE(TakesPrefix({.markup = ChatMarkup::kPlain}));
  EXPECT_FALSE(TakesPrefix({.markup = ChatMarkup::kLlama3}));
  EXPECT_FALSE(TakesPrefix({.markup = ChatMarkup::kMistral}));
}

TEST(ChatFormat, OnlyALiteralIsADefaultSystemPrompt) {
  const auto system = [](std::string_view text) {
    const auto format = RecogniseChatFormat(StrCat("<|im_start|> <|im_end|>\n ", text));
    return format.ok() ? format->default_system : "refused";
  };
  EXPECT_EQ(system("{{ '<|im_start|>system\\n' + x + '<|im_end|>' }}"), "");
  EXPECT_EQ(system("<|im_start|>system\nreal newline<|im_end|>"), "real newline");
  EXPECT_EQ(system("<|im_start|>system\\n{{ words }}<|im_end|>"), "");
  EXPECT_EQ(system("<|im_start|>system\\nnever ended"), "refused");
  EXPECT_EQ(system("{{ '<|im_start|>system\\nWords: ' + x + '<|im_end|>' }}"), "refused");
  EXPECT_EQ(system("<|im_start|>system\nA<|im_end|><|im_start|>system\nB<|im_end|>"), "refused");
  EXPECT_EQ(system("<|im_start|>system no newline<|im_end|>"), "");
}

TEST(ChatFormat, AnUnknownTemplateIsRefusedWithTheList) {
  for (const std::string_view text :
       {"", "{{ message }}", "<start_of_turn>user", "'[INST] <<SYS>>\\n' [/INST]",
        "[SYSTEM_PROMPT] [INST] [/INST]", "<|im_start|> alone", "{{ 'never ended"}) {
    const absl::Status status = RecogniseChatFormat(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("--chat-format one of chatml|llama3|mistral|plain"));
  }
}

TEST(ChatFormat, AChosenFormatIsTheTemplatesWhereTheyAgree) {
  const std::string qwen = Statements().at("qwen2.5");
  EXPECT_EQ(*ChooseChatFormat("auto", qwen), Models().at("qwen2.5"));
  EXPECT_EQ(*ChooseChatFormat("chatml", qwen), Models().at("qwen2.5"));
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
  for (const Value& golden : *goldens->root.Find("goldens")->As<Value::Array>()) {
    const std::string& model = *golden.Find("model")->As<std::string>();
    ASSERT_TRUE(Models().count(model) == 1) << model;
    const ChatFormat& format = Models().at(model);
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
  // The template of mistral-7b-v0.2 refuses three conversations with a system's turn.
  EXPECT_EQ(chats, 15 * 12 - 3);
  EXPECT_EQ(prompts, 15 * 12 - 3);
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
  for (const auto& [name, known] : Models()) formats.push_back(known);
  for (const ChatFormat& format : formats) {
    const std::vector<ChatSegment> chat = RenderChat(format, turns);
    const bool moves = format.markup == ChatMarkup::kMistral && format.system_in_last_question;
    for (const size_t asked : {2u, 4u}) {
      if (moves && asked == 2) continue;  // the system's words go on to the next question
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
