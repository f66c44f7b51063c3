#include "runtime/data/records/read_conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "model/chat/write_json.h"

namespace horizon {
namespace {

using testing::HasSubstr;

using Reader = absl::Status (*)(const Value&, Conversation&);

absl::Status OfMessages(const Value& record, Conversation& conversation) {
  return ReadMessages(record, "messages", conversation);
}

std::string Json(const Value& value) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  WriteJson(value, json);
  std::string text = std::move(json).Finish();
  std::erase(text, ' ');
  return text;
}

// The messages without spaces, a line each, with '*' before those that are trained; or "error:
// ...".
std::string Read(Reader reader, std::string_view json, Conversation* kept = nullptr) {
  const absl::StatusOr<Document> document = ParseJson("record", json);
  EXPECT_TRUE(document.ok()) << document.status();
  Conversation conversation;
  const absl::Status status = reader(document->root, conversation);
  if (!status.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return StrCat("error: ", status.message());
  }
  std::string text;
  for (const ChatMessage& message : conversation.messages) {
    text += StrCat(message.trained ? "*" : "", Json(Value(message.fields, 1)), "\n");
  }
  if (kept != nullptr) *kept = std::move(conversation);
  return text;
}

std::string Messages(std::string_view list) {
  return Read(OfMessages, StrCat(R"({"messages": [)", list, "]}"));
}

constexpr std::string_view kAnswer = R"({"role":"assistant","content":"A"})";
const std::string kLearnt = StrCat("*", kAnswer, "\n");

TEST(ReadConversation, MessagesKeepTheirKeysInOrderWithoutNulls) {
  EXPECT_EQ(
      Messages(StrCat(
          R"({"content": "U", "role": "user", "name": "n", "tool_calls": null, "extra": [1]},)",
          kAnswer)),
      StrCat(R"({"content":"U","role":"user","name":"n","extra":[1]})", "\n", kLearnt));
}

TEST(ReadConversation, RolesArePassedOnWhereverTheyStand) {
  for (const std::string role : {"system", "developer", "tool", "user", "ipython", "critic"}) {
    const std::string other = StrCat(R"({"role":")", role, R"(","content":"x"})");
    EXPECT_EQ(Messages(StrCat(kAnswer, ",", other)), StrCat(kLearnt, other, "\n"));
  }
}

TEST(ReadConversation, AnswersMayBeEmptyOrCallToolsInSilence) {
  EXPECT_EQ(Messages(R"({"role": "assistant", "content": ""})"),
            "*{\"role\":\"assistant\",\"content\":\"\"}\n");
  EXPECT_EQ(Messages(R"({"role": "assistant", "content": null,
                         "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}}]})"),
            "*{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
            "\"arguments\":\"{\\\"a\\\":1}\"}}]}\n");
  EXPECT_EQ(Messages(R"({"role": "assistant", "reasoning_content": "R"})"),
            "*{\"role\":\"assistant\",\"reasoning_content\":\"R\"}\n");
}

TEST(ReadConversation, WeightAndTrainSayWhatIsLearnt) {
  for (const std::string key : {"weight", "train"}) {
    for (const std::string no : {"0", "0.0", "false"}) {
      EXPECT_EQ(
          Messages(StrCat(R"({"role":"assistant","content":"A",")", key, "\":", no, "},", kAnswer)),
          StrCat(kAnswer, "\n", kLearnt));
    }
    for (const std::string yes : {"1", "1.0", "true", "null"}) {
      EXPECT_EQ(Messages(StrCat(R"({"role":"assistant","content":"A",")", key, "\":", yes, "}")),
                kLearnt);
    }
  }
  EXPECT_THAT(Messages(R"({"role":"assistant","content":"A","weight":0.5})"),
              HasSubstr("messages[0].weight is 0.5"));
  EXPECT_THAT(Messages(R"({"role":"assistant","content":"A","train":"no"})"),
              HasSubstr("messages[0].train is a string; it must be 0 or 1"));
  EXPECT_THAT(Messages(R"({"role":"assistant","content":"A","train":true,"weight":0})"),
              HasSubstr("contradict"));
  EXPECT_THAT(Messages(StrCat(R"({"role":"user","content":"U","weight":1},)", kAnswer)),
              HasSubstr("messages[0] is to be learnt, and is the user's"));
  EXPECT_EQ(Messages(StrCat(R"({"role":"user","content":"U","weight":0},)", kAnswer)),
            StrCat("{\"role\":\"user\",\"content\":\"U\"}\n", kLearnt));
}

TEST(ReadConversation, OtherKeysThatSayWhatIsLearntAreRefusedByName) {
  for (const std::string key : {"loss", "mask", "trainable", "training", "loss_mask", "learn"}) {
    EXPECT_THAT(Messages(StrCat(R"({"role":"assistant","content":"A",")", key, "\":false}")),
                HasSubstr(StrCat("messages[0] has \"", key, "\"")));
    EXPECT_THAT(Messages(StrCat(R"({"role":"assistant","tool_calls":[1],")", key, "\":false}")),
                HasSubstr(StrCat("messages[0] has \"", key, "\"")));
  }
}

TEST(ReadConversation, ToolsDocumentsAndArgumentsAreRead) {
  const auto read = [](std::string_view more, Conversation& into) {
    return Read(OfMessages, StrCat(R"({"messages": [)", kAnswer, "]", more, "}"), &into);
  };
  Conversation conversation;
  EXPECT_EQ(read("", conversation), kLearnt);
  EXPECT_TRUE(conversation.tools.is_null() && conversation.documents.is_null());
  EXPECT_TRUE(conversation.arguments.empty());
  read(R"(,"tools": [{"b": 1, "a": 2}], "documents": [{"title": "t"}],
          "chat_template_kwargs": {"enable_thinking": false})",
       conversation);
  EXPECT_EQ(Json(conversation.tools), R"([{"b":1,"a":2}])");
  EXPECT_EQ(Json(conversation.documents), R"([{"title":"t"}])");
  EXPECT_EQ(Json(Value(conversation.arguments, 1)), R"({"enable_thinking":false})");
  read(R"(,"tools": "[{\"b\": 1}]")", conversation);
  EXPECT_EQ(Json(conversation.tools), R"([{"b":1}])");
  read(R"(,"tools": "[]")", conversation);
  EXPECT_EQ(Json(conversation.tools), "[]");
  for (const std::string none : {"null", "\"\"", "\"  \"", "\"null\""}) {
    read(StrCat(",\"tools\": ", none), conversation);
    EXPECT_TRUE(conversation.tools.is_null()) << none;
  }
  EXPECT_THAT(read(R"(,"tools": "x")", conversation), HasSubstr("no JSON"));
  EXPECT_THAT(read(R"(,"tools": {"a": 1})", conversation), HasSubstr("tools is an object"));
  EXPECT_THAT(read(R"(,"tools": ["f"])", conversation), HasSubstr("tools[0] is a string"));
  EXPECT_THAT(read(R"(,"documents": "x")", conversation), HasSubstr("documents is a string"));
  EXPECT_THAT(read(R"(,"chat_template_kwargs": [])", conversation),
              HasSubstr("chat_template_kwargs is an array"));
}

TEST(ReadConversation, SharedConversationsBecomeMessages) {
  EXPECT_EQ(Messages(R"({"from": "system", "value": "S"}, {"from": "human", "value": "U"},
                         {"from": "function_call", "value": "{\"name\": \"f\", \"arguments\": {}}"},
                         {"from": "observation", "value": "T"}, {"from": "gpt", "value": "A"},
                         {"from": "gpt", "value": "B", "weight": 0})"),
            "{\"role\":\"system\",\"content\":\"S\"}\n{\"role\":\"user\",\"content\":\"U\"}\n"
            "*{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"function\",\"function\":"
            "{\"name\":\"f\",\"arguments\":{}}}]}\n{\"role\":\"tool\",\"content\":\"T\"}\n" +
                kLearnt + "{\"role\":\"assistant\",\"content\":\"B\"}\n");
  EXPECT_THAT(Messages(R"({"from": "alien", "value": "x"})"), HasSubstr("is \"alien\"; horizon"));
  EXPECT_THAT(Messages(R"({"from": 1, "value": "x"})"),
              HasSubstr("messages[0].from is an integer"));
  EXPECT_THAT(Messages(R"({"from": "human"})"), HasSubstr("messages[0].value is missing"));
  EXPECT_THAT(Messages(R"({"from": "function_call", "value": "f"})"),
              HasSubstr("must be a call in JSON"));
}

TEST(ReadConversation, PromptsAreNotLearntAndCompletionsAre) {
  EXPECT_EQ(Read(ReadPromptMessages, StrCat(R"({"prompt": [{"role":"user","content":"U"},)",
                                            kAnswer, R"(], "completion": [)", kAnswer, "]}")),
            StrCat("{\"role\":\"user\",\"content\":\"U\"}\n", kAnswer, "\n", kLearnt));
  EXPECT_THAT(
      Read(ReadPromptMessages, StrCat(R"({"prompt": [)", kAnswer, R"(], "completion": []})")),
      HasSubstr("nothing to learn"));
  EXPECT_THAT(Read(ReadPromptMessages, StrCat(R"({"prompt": [1], "completion": []})")),
              HasSubstr("prompt[0] is an integer"));
}

TEST(ReadConversation, WhatIsWrongIsNamed) {
  for (const auto& [list, reason] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"", "nothing to learn"},
           {"1", "messages[0] is an integer"},
           {R"({"content": "U"})", "neither \"role\" nor \"from\""},
           {R"({"role": null, "content": "U"})", "neither \"role\" nor \"from\""},
           {R"({"role": "user"})", "messages[0].content is missing"},
           {R"({"role": "assistant", "content": null})", "messages[0].content is missing"},
           {R"({"role": "tool", "tool_calls": [1]})", "messages[0].content is missing"},
           {R"({"role": 1, "content": ""})", "messages[0].role is an integer"},
           {R"({"role": "user", "content": [{"type": "image_url"}]})", "of the type \"image_url\""},
           {R"({"role": "user", "content": "U"})", "no message is the assistant's"},
           {R"({"role": "assistant", "content": "A", "weight": 0})",
            "no message of the assistant is to be learnt"}}) {
    EXPECT_THAT(Messages(list), HasSubstr(std::string(reason))) << list;
  }
  EXPECT_THAT(Read(OfMessages, R"({"messages": "x"})"), HasSubstr("it must be an array"));
  EXPECT_THAT(Read(OfMessages, "{}"), HasSubstr("\"messages\" is missing"));
  EXPECT_THAT(Read(OfMessages, StrCat(R"({"system": "S", "messages": [{"role": "system",
                                          "content": "S"}, )",
                                      kAnswer, "]}")),
              HasSubstr("two system prompts"));
}

}  // namespace
}  // namespace horizon
