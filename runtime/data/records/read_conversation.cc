#include "runtime/data/records/read_conversation.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "runtime/data/records/read_message.h"

namespace horizon {
namespace {

struct KeyPair {
  std::string_view question;
  std::string_view answer;
};
constexpr std::array<KeyPair, 4> kQuestionKeys = {{{"query", "response"},
                                                   {"question", "answer"},
                                                   {"prompt", "completion"},
                                                   {"prompt", "response"}}};

absl::Status Refuse(std::string_view reason) {
  return absl::InvalidArgumentError(std::string(reason));
}

// A key of the record that must be there.
absl::StatusOr<std::string> Required(const Value& record, std::string_view key) {
  const Value* value = record.Find(key);
  if (value == nullptr) return Refuse(StrCat(Quoted(key), " is missing"));
  std::string words;
  RETURN_IF_ERROR(ReadTextParts(*value, key, words));
  return words;
}

// One that may be missing or null: no words.
absl::StatusOr<std::string> Optional(const Value& record, std::string_view key) {
  const Value* value = record.Find(key);
  if (value == nullptr || value->is_null()) return std::string();
  return Required(record, key);
}

absl::Status AddMessages(const Value& record, std::string_view key,
                         std::vector<ChatMessage>& messages) {
  const Value* list = record.Find(key);
  if (list == nullptr) return Refuse(StrCat(Quoted(key), " is missing"));
  const auto* elements = list->As<Value::Array>();
  if (elements == nullptr) return WrongType(key, *list, "an array of messages");
  for (size_t i = 0; i < elements->size(); ++i) {
    ASSIGN_OR_RETURN(ChatMessage message, ReadMessage((*elements)[i], StrCat(key, "[", i, "]")));
    messages.push_back(std::move(message));
  }
  return absl::OkStatus();
}

absl::Status AddHistory(const Value& record, std::vector<ChatMessage>& messages) {
  const Value* history = record.Find("history");
  if (history == nullptr || history->is_null()) return absl::OkStatus();
  const auto* rounds = history->As<Value::Array>();
  if (rounds == nullptr) return WrongType("history", *history, "an array of pairs");
  for (size_t i = 0; i < rounds->size(); ++i) {
    const auto* round = (*rounds)[i].As<Value::Array>();
    if (round == nullptr || round->size() != 2) {
      return Refuse(StrCat("history[", i, "] must be [question, answer]"));
    }
    for (size_t j = 0; j < 2; ++j) {
      std::string words;
      RETURN_IF_ERROR(ReadTextParts((*round)[j], StrCat("history[", i, "][", j, "]"), words));
      messages.push_back(TextMessage(j == 0 ? "user" : "assistant", words));
    }
  }
  return absl::OkStatus();
}

// A "system" beside the messages is the first of them.
absl::Status AddSystem(const Value& record, std::vector<ChatMessage>& messages) {
  ASSIGN_OR_RETURN(const std::string words, Optional(record, "system"));
  if (words.empty()) return absl::OkStatus();
  if (!messages.empty() && messages.front().role() == "system") {
    return Refuse("there are two system prompts: in \"system\" and as a message");
  }
  messages.insert(messages.begin(), TextMessage("system", words));
  return absl::OkStatus();
}

// A list of objects; null where the record has none.
absl::StatusOr<Value> ReadObjects(const Value& record, std::string_view key) {
  const Value* value = record.Find(key);
  if (value == nullptr) return Value();
  Value list = *value;
  if (const auto* text = value->As<std::string>(); text != nullptr && key == "tools") {
    // Written so where rows of a table must have the same columns.
    if (text->find_first_not_of(" \t\r\n") == std::string::npos) return Value();
    absl::StatusOr<Document> parsed = ParseJson("tools", *text);
    if (!parsed.ok()) return Refuse("tools is a string that is no JSON");
    list = std::move(parsed->root);
  }
  if (list.is_null()) return Value();
  const auto* elements = list.As<Value::Array>();
  if (elements == nullptr) return WrongType(key, list, "an array of objects");
  for (size_t i = 0; i < elements->size(); ++i) {
    if ((*elements)[i].As<Value::Object>() == nullptr) {
      return WrongType(StrCat(key, "[", i, "]"), (*elements)[i], "an object");
    }
  }
  return list;
}

// What stands beside the messages, and whether something is trained.
absl::Status Finish(const Value& record, Conversation& conversation) {
  ASSIGN_OR_RETURN(conversation.tools, ReadObjects(record, "tools"));
  ASSIGN_OR_RETURN(conversation.documents, ReadObjects(record, "documents"));
  const Value* arguments = record.Find("chat_template_kwargs");
  if (arguments != nullptr && !arguments->is_null()) {
    const auto* object = arguments->As<Value::Object>();
    if (object == nullptr) return WrongType("chat_template_kwargs", *arguments, "an object");
    conversation.arguments = *object;
  }
  bool answers = false;
  for (const ChatMessage& message : conversation.messages) {
    if (message.trained) return absl::OkStatus();
    answers = answers || message.role() == "assistant";
  }
  return Refuse(answers ? "no message of the assistant is to be learnt; there is nothing to learn"
                        : "no message is the assistant's; there is nothing to learn");
}

}  // namespace

absl::Status WrongType(std::string_view what, const Value& value, std::string_view needed) {
  return Refuse(StrCat(what, " is ", value.KindName(), "; it must be ", needed));
}

absl::Status ReadTextParts(const Value& value, std::string_view what, std::string& joined) {
  joined.clear();
  if (const auto* text = value.As<std::string>()) {
    joined = *text;
    return absl::OkStatus();
  }
  const auto* parts = value.As<Value::Array>();
  if (parts == nullptr) return WrongType(what, value, "a string");
  for (size_t i = 0; i < parts->size(); ++i) {
    const std::string place = StrCat(what, "[", i, "]");
    const Value* type = (*parts)[i].Find("type");
    const Value* text = (*parts)[i].Find("text");
    const auto* word = type == nullptr ? nullptr : type->As<std::string>();
    if (word == nullptr) {
      return Refuse(StrCat(place, " is no part {\"type\": \"text\", \"text\": ...}"));
    }
    if (*word != "text") {
      return Refuse(
          StrCat(place, " is of the type ", Quoted(*word), "; horizon trains on text only"));
    }
    if (text == nullptr || text->As<std::string>() == nullptr) {
      return Refuse(StrCat(place, ".text must be a string"));
    }
    joined += *text->As<std::string>();
  }
  return absl::OkStatus();
}

absl::Status ReadMessages(const Value& record, std::string_view key, Conversation& conversation) {
  conversation = {};
  RETURN_IF_ERROR(AddMessages(record, key, conversation.messages));
  RETURN_IF_ERROR(AddSystem(record, conversation.messages));
  return Finish(record, conversation);
}

absl::Status ReadAlpaca(const Value& record, Conversation& conversation) {
  conversation = {};
  RETURN_IF_ERROR(AddHistory(record, conversation.messages));
  ASSIGN_OR_RETURN(std::string question, Required(record, "instruction"));
  ASSIGN_OR_RETURN(const std::string input, Optional(record, "input"));
  ASSIGN_OR_RETURN(const std::string answer, Required(record, "output"));
  if (!input.empty()) question += StrCat(question.empty() ? "" : "\n", input);
  conversation.messages.push_back(TextMessage("user", question));
  conversation.messages.push_back(TextMessage("assistant", answer));
  RETURN_IF_ERROR(AddSystem(record, conversation.messages));
  return Finish(record, conversation);
}

absl::Status ReadQuestion(const Value& record, Conversation& conversation) {
  conversation = {};
  const auto* pair =
      std::find_if(kQuestionKeys.begin(), kQuestionKeys.end(), [&](const KeyPair& keys) {
        return record.Find(keys.question) != nullptr && record.Find(keys.answer) != nullptr;
      });
  if (pair == kQuestionKeys.end()) {
    return Refuse(
        "there is no question with an answer: \"query\" and \"response\" (or "
        "\"question\" and \"answer\", or \"prompt\" and \"completion\")");
  }
  ASSIGN_OR_RETURN(const std::string question, Required(record, pair->question));
  ASSIGN_OR_RETURN(const std::string answer, Required(record, pair->answer));
  conversation.messages.push_back(TextMessage("user", question));
  conversation.messages.push_back(TextMessage("assistant", answer));
  RETURN_IF_ERROR(AddSystem(record, conversation.messages));
  return Finish(record, conversation);
}

absl::Status ReadPromptMessages(const Value& record, Conversation& conversation) {
  conversation = {};
  RETURN_IF_ERROR(AddMessages(record, "prompt", conversation.messages));
  for (ChatMessage& message : conversation.messages) message.trained = false;
  RETURN_IF_ERROR(AddMessages(record, "completion", conversation.messages));
  return Finish(record, conversation);
}

}  // namespace horizon
