#include "model/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/json.h"
#include "model/chat/date_text.h"
#include "tests/runtime/data/fake_chat.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Value Json(std::string_view text) {
  const absl::StatusOr<Document> document = ParseJson("test", text);
  EXPECT_TRUE(document.ok()) << document.status();
  return document.ok() ? document->root : Value();
}

ChatTemplate Make(std::string_view text, ChatTemplateOptions options = {}) {
  options.templates = {{"default", std::string(text), "chat.jinja"}};
  absl::StatusOr<ChatTemplate> made = ChatTemplate::Create(options);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// The text, or "error: ...".
std::string TextOf(const ChatTemplate& chat, const Conversation& conversation,
                   GenerationPrompt prompt = GenerationPrompt::kWithout) {
  const absl::StatusOr<TracedText> text = chat.Render(conversation, prompt);
  if (!text.ok()) return "error: " + std::string(text.status().message());
  return text->text();
}

Conversation Said(std::string_view fields) {
  Conversation conversation;
  conversation.messages.push_back({.fields = *Json(fields).As<Value::Object>()});
  return conversation;
}

const Conversation kHello = TextConversation({{"user", "Hi"}, {"assistant", "Yes"}});

TEST(ChatTemplate, GivesMessagesAndTheGenerationPrompt) {
  const ChatTemplate chat = Make(
      "{% for m in messages %}{{ m.role }}: {{ m['content'] }}\n{% endfor %}"
      "{% if add_generation_prompt %}assistant:{% endif %}");
  EXPECT_EQ(TextOf(chat, kHello), "user: Hi\nassistant: Yes\n");
  EXPECT_EQ(TextOf(chat, kHello, GenerationPrompt::kWith), "user: Hi\nassistant: Yes\nassistant:");
}

TEST(ChatTemplate, SpecialTokensAreTextOfTheTemplateAndRecordsAreQuoted) {
  const ChatTemplate chat = Make(
      "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}",
      {.special_tokens = {{"bos_token", "<s>"}}});
  const absl::StatusOr<TracedText> text = chat.Render(kHello, GenerationPrompt::kWithout);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->text(), "<s><|user|>Hi<|assistant|>Yes");
  std::string quoted;
  for (size_t i = 0; i < text->size(); ++i) {
    if (text->OriginAt(i).quoted) quoted += text->text()[i];
  }
  EXPECT_EQ(quoted, "HiYes");
  EXPECT_EQ(text->OriginAt(text->size() - 1).message, 1);
}

TEST(ChatTemplate, ARoleThatIsNoPlainWordIsQuoted) {
  const ChatTemplate chat = Make("{% for m in messages %}{{ m.role }}{% endfor %}");
  const absl::StatusOr<TracedText> text =
      chat.Render(TextConversation({{"a|><|b", "x"}}), GenerationPrompt::kWithout);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(text->OriginAt(0).quoted);
}

TEST(ChatTemplate, WordsThatAreNoUtf8AreReplaced) {
  const ChatTemplate chat = Make("{% for m in messages %}{{ m.content | trim }}{% endfor %}");
  EXPECT_EQ(TextOf(chat, TextConversation({{"user", "\xff a\xc3"}})), "\ufffd a\ufffd");
}

TEST(ChatTemplate, ReasoningHasEveryNameThatTemplatesKnow) {
  const ChatTemplate chat = Make(
      "{{ messages[0].reasoning_content }},{{ messages[0].thinking }},{{ messages[0].reasoning }}");
  EXPECT_EQ(TextOf(chat, Said(R"({"role": "assistant", "reasoning": "R"})")), "R,R,R");
  EXPECT_EQ(TextOf(chat, Said(R"({"role": "assistant", "thinking": "T"})")), "T,T,");
  EXPECT_EQ(TextOf(chat, Said(R"({"role": "assistant", "reasoning_content": "C"})")), "C,C,");
  EXPECT_EQ(TextOf(chat, Said(R"({"reasoning": "R", "thinking": "T", "role": "assistant"})")),
            "T,T,R");
  const ChatTemplate keys = Make("{{ messages[0] | tojson }}");
  EXPECT_EQ(
      TextOf(keys, Said(R"({"role": "assistant", "reasoning": "R"})")),
      R"({"thinking": "R", "role": "assistant", "reasoning": "R", "reasoning_content": "R"})");
  EXPECT_EQ(TextOf(keys, Said(R"({"role": "user", "content": "R"})")),
            R"({"role": "user", "content": "R"})");
}

TEST(ChatTemplate, TheRecordsArgumentsWinOverThoseGivenAndThoseOverTokens) {
  ChatTemplateOptions options;
  options.special_tokens = {{"bos_token", "B"}, {"eos_token", "E"}};
  options.arguments = *Json(R"({"bos_token": "args", "think": true})").As<Value::Object>();
  const ChatTemplate chat = Make("{{ bos_token }} {{ eos_token }} {{ think }}", options);
  EXPECT_EQ(TextOf(chat, kHello), "args E True");
  Conversation own = kHello;
  own.arguments = *Json(R"({"think": null, "eos_token": "mine"})").As<Value::Object>();
  EXPECT_EQ(TextOf(chat, own), "args mine None");
}

TEST(ChatTemplate, ToolsAndDocumentsAreNoneOrListsInTheirOrder) {
  const ChatTemplate chat = Make("{{ tools }} {{ documents }} {{ tools is none }}");
  EXPECT_EQ(TextOf(chat, kHello), "None None True");
  Conversation with = kHello;
  with.tools = Json(R"([{"b": 1, "a": true}])");
  with.documents = Json("[]");
  EXPECT_EQ(TextOf(chat, with), "[{'b': 1, 'a': True}] [] False");
}

TEST(ChatTemplate, ToolUseIsTakenForRecordsWithTools) {
  ChatTemplateOptions options;
  options.templates = {
      {"tool_use", "tools", "a"}, {"default", "plain", "b"}, {"rag", "{% bad", "c"}};
  const absl::StatusOr<ChatTemplate> chat = ChatTemplate::Create(options);
  ASSERT_TRUE(chat.ok()) << chat.status();
  Conversation with = kHello;
  EXPECT_EQ(TextOf(*chat, with), "plain");
  with.tools = Json("[]");
  EXPECT_EQ(TextOf(*chat, with), "tools");
  options.templates = {{"tool_use", "tools", "a"}};
  const absl::StatusOr<ChatTemplate> only = ChatTemplate::Create(options);
  ASSERT_TRUE(only.ok());
  EXPECT_EQ(TextOf(*only, with), "tools");
  EXPECT_THAT(TextOf(*only, kHello),
              AllOf(HasSubstr("records with tools"), HasSubstr("--chat-template")));
}

TEST(ChatTemplate, TheDateIsTheOneGivenAndPartOfTheIdentityOnlyIfAskedFor) {
  const auto make = [](std::string_view text, std::string_view day) {
    return Make(text, {.now = *ParseDay(day)});
  };
  constexpr std::string_view kDated = "{{ strftime_now('%d %b %Y') }}";
  EXPECT_EQ(TextOf(make(kDated, "2024-07-26"), kHello), "26 Jul 2024");
  EXPECT_TRUE(make(kDated, "2024-07-26").uses_date());
  EXPECT_NE(make(kDated, "2024-07-26").Identity(), make(kDated, "2024-07-27").Identity());
  EXPECT_FALSE(make("x", "2024-07-26").uses_date());
  EXPECT_EQ(make("x", "2024-07-26").Identity(), make("x", "2024-07-27").Identity());
}

TEST(ChatTemplate, TheIdentityDependsOnTemplatesTokensAndArguments) {
  std::vector<std::string> identities = {
      Make("x").Identity(),
      Make("y").Identity(),
      Make("x", {.special_tokens = {{"bos_token", "a"}}}).Identity(),
      Make("x", {.special_tokens = {{"bos_token", "b"}}}).Identity(),
      Make("x", {.arguments = *Json(R"({"a": 1})").As<Value::Object>()}).Identity(),
      Make("x", {.arguments = *Json(R"({"a": "1"})").As<Value::Object>()}).Identity()};
  std::sort(identities.begin(), identities.end());
  EXPECT_EQ(std::adjacent_find(identities.begin(), identities.end()), identities.end());
}

TEST(ChatTemplate, WhatCannotBeUsedIsRefusedWithItsPlace) {
  const auto error = [](const ChatTemplateOptions& options) {
    const absl::Status status = ChatTemplate::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  EXPECT_THAT(error({}), AllOf(HasSubstr("no chat template"), HasSubstr("--chat-format")));
  EXPECT_THAT(error({.templates = {{"rag", "x", "a"}}}),
              HasSubstr("none that is named \"default\""));
  EXPECT_THAT(error({.templates = {{"default", "a\n{% if %}", "chat.jinja"}}}),
              HasSubstr("chat.jinja:2: "));
  EXPECT_THAT(error({.templates = {{"default", "\xff", "a.jinja"}}}),
              HasSubstr("a.jinja: the chat template is no UTF-8"));
  EXPECT_THAT(error({.templates = {{"default", "x", "a"}},
                     .arguments = *Json(R"({"messages": 1})").As<Value::Object>()}),
              HasSubstr("--chat-template-args has \"messages\""));
}

TEST(ChatTemplate, AConversationThatIsRefusedSaysWhy) {
  const ChatTemplate chat = Make("\n{{ raise_exception('roles must alternate') }}");
  EXPECT_THAT(TextOf(chat, kHello),
              AllOf(HasSubstr("chat.jinja:2"), HasSubstr("roles must alternate")));
  EXPECT_THAT(TextOf(chat, {}), HasSubstr("no messages"));
  Conversation reserved = kHello;
  reserved.arguments = *Json(R"({"add_generation_prompt": true})").As<Value::Object>();
  EXPECT_THAT(TextOf(chat, reserved), HasSubstr("chat_template_kwargs has"));
}

TEST(ChatTemplate, PartsArePassedOnAndNotPrintedAsPythonsLists) {
  const Conversation parts = Said(
      R"({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})");
  const ChatTemplate knows = Make("{% for p in messages[0].content %}{{ p.text }}{% endfor %}");
  EXPECT_EQ(TextOf(knows, parts), "ab");
  const ChatTemplate prints = Make("{{ messages[0].content }}");
  EXPECT_THAT(TextOf(prints, parts), HasSubstr("write \"content\" as one string"));
}

}  // namespace
}  // namespace horizon
