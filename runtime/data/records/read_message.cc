#include "runtime/data/records/read_message.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "runtime/data/records/read_conversation.h"

namespace horizon {
namespace {

constexpr std::string_view kAssistant = "assistant";

struct RoleWord {
  std::string_view from;
  std::string_view role;
};
constexpr std::array<RoleWord, 13> kRoles = {{{"human", "user"},
                                              {"user", "user"},
                                              {"gpt", kAssistant},
                                              {"chatgpt", kAssistant},
                                              {"bing", kAssistant},
                                              {"bard", kAssistant},
                                              {"assistant", kAssistant},
                                              {"system", "system"},
                                              {"developer", "developer"},
                                              {"tool", "tool"},
                                              {"observation", "tool"},
                                              {"function_response", "tool"},
                                              {"function_call", kAssistant}}};

// Keys by which other programs say what is trained of a message: ms-swift, xtuner, axolotl, NeMo.
constexpr std::array<std::string_view, 16> kOtherTrainingKeys = {
    "loss",    "loss_mask", "loss_scale",      "loss_weight",   "mask",     "masked",
    "learn",   "learnable", "train_detail",    "train_on_turn", "train_on", "trainable",
    "trained", "training",  "training_detail", "train_weight"};

// Parts that stand for something else than text.
constexpr std::array<std::string_view, 7> kMedia = {"image", "image_url",   "input_image", "video",
                                                    "audio", "input_audio", "video_url"};

absl::Status Refuse(std::string_view reason) {
  return absl::InvalidArgumentError(std::string(reason));
}

bool IsTrainingKey(std::string_view key) { return key == "weight" || key == "train"; }

// Whether "weight" or "train" says that a message is trained: true or false, 1 or 0.
absl::StatusOr<bool> ReadTrained(const Value& value, std::string_view place) {
  if (const bool* truth = value.As<bool>()) return *truth;
  std::optional<double> number;
  if (const int64_t* integer = value.As<int64_t>()) number = static_cast<double>(*integer);
  if (const double* real = value.As<double>()) number = *real;
  if (number == 0.0 || number == 1.0) return *number == 1.0;
  if (number.has_value()) {
    return Refuse(StrCat(place, " is ", *number,
                         "; horizon learns a message (1) or does not (0), nothing in between"));
  }
  return WrongType(place, value, "0 or 1");
}

absl::Status CheckParts(const Value& content, std::string_view place) {
  const auto* parts = content.As<Value::Array>();
  if (parts == nullptr) return absl::OkStatus();
  for (size_t i = 0; i < parts->size(); ++i) {
    const Value* type = (*parts)[i].Find("type");
    const auto* word = type == nullptr ? nullptr : type->As<std::string>();
    if (word == nullptr || std::find(kMedia.begin(), kMedia.end(), *word) == kMedia.end()) continue;
    return Refuse(StrCat(place, ".content[", i, "] is of the type ", Quoted(*word),
                         "; horizon trains on text only"));
  }
  return absl::OkStatus();
}

// An assistant may call tools, or think, without saying anything.
bool MayBeSilent(const ChatMessage& message) {
  if (message.role() != kAssistant) return false;
  for (const std::string_view key :
       {"tool_calls", "function_call", "reasoning_content", "reasoning", "thinking"}) {
    if (message.Find(key) != nullptr) return true;
  }
  return false;
}

// The value of "function_call": {"name", "arguments"} or a list of such, as JSON in a text.
absl::StatusOr<Value> ReadToolCalls(const Value& value, std::string_view place) {
  const auto* text = value.As<std::string>();
  if (text == nullptr) return WrongType(place, value, "a string");
  const absl::StatusOr<Document> parsed = ParseJson(std::string(place), *text);
  const std::string needs =
      StrCat(place, " must be a call in JSON: {\"name\": ..., \"arguments\": {...}}");
  if (!parsed.ok()) return Refuse(needs);
  const Value& root = parsed->root;
  const Value::Array one = {root};
  const Value::Array& calls = root.As<Value::Array>() == nullptr ? one : *root.As<Value::Array>();
  Value::Array list;
  for (const Value& call : calls) {
    const auto* fields = call.As<Value::Object>();
    if (fields == nullptr || call.Find("name") == nullptr) return Refuse(needs);
    Value::Object function;
    function.emplace_back("type", Value(std::string("function"), value.line()));
    function.emplace_back("function", Value(*fields, value.line()));
    list.push_back(Value(std::move(function), value.line()));
  }
  return Value(std::move(list), value.line());
}

// {"from", "value", ...} as {"role", "content", ...}.
absl::StatusOr<Value::Object> FromShared(const Value::Object& given, std::string_view place) {
  Value::Object fields;
  std::string word;
  for (const auto& [key, value] : given) {
    if (key != "from") continue;
    const auto* from = value.As<std::string>();
    if (from == nullptr) return WrongType(StrCat(place, ".from"), value, "a string");
    word = *from;
    const auto* known = std::find_if(kRoles.begin(), kRoles.end(),
                                     [&](const RoleWord& each) { return each.from == word; });
    if (known == kRoles.end()) {
      return Refuse(StrCat(place, ".from is ", Quoted(word),
                           "; horizon knows human, gpt, system, tool, observation and "
                           "function_call"));
    }
    fields.emplace_back("role", Value(std::string(known->role), value.line()));
  }
  for (const auto& [key, value] : given) {
    if (key == "from") continue;
    if (key != "value") {
      fields.emplace_back(key, value);
    } else if (word == "function_call") {
      ASSIGN_OR_RETURN(Value calls, ReadToolCalls(value, StrCat(place, ".value")));
      fields.emplace_back("tool_calls", std::move(calls));
    } else {
      fields.emplace_back("content", value);
    }
  }
  return fields;
}

absl::Status CheckMessage(const ChatMessage& message, bool shared, std::string_view place) {
  const Value* role = message.Find("role");
  if (role == nullptr) return Refuse(StrCat(place, " has neither \"role\" nor \"from\""));
  if (role->As<std::string>() == nullptr) {
    return WrongType(StrCat(place, ".role"), *role, "a string");
  }
  for (const auto& [key, value] : message.fields) {
    const bool other = std::find(kOtherTrainingKeys.begin(), kOtherTrainingKeys.end(), key) !=
                       kOtherTrainingKeys.end();
    if (!other) continue;
    return Refuse(StrCat(place, " has ", Quoted(key),
                         ", which horizon does not know; say what is not learnt with \"weight\": 0 "
                         "or \"train\": false"));
  }
  const Value* content = message.Find("content");
  if (content == nullptr) {
    if (MayBeSilent(message)) return absl::OkStatus();
    return Refuse(StrCat(place, shared ? ".value" : ".content", " is missing"));
  }
  return CheckParts(*content, place);
}

}  // namespace

absl::StatusOr<ChatMessage> ReadMessage(const Value& value, std::string_view place) {
  const auto* given = value.As<Value::Object>();
  if (given == nullptr) return WrongType(place, value, "an object");
  const bool shared = value.Find("from") != nullptr && value.Find("role") == nullptr;
  Value::Object fields = *given;
  if (shared) {
    ASSIGN_OR_RETURN(fields, FromShared(*given, place));
  }
  ChatMessage message;
  std::optional<bool> trained;
  for (auto& [key, field] : fields) {
    if (field.is_null()) continue;
    if (!IsTrainingKey(key)) {
      message.fields.emplace_back(key, std::move(field));
      continue;
    }
    ASSIGN_OR_RETURN(const bool own, ReadTrained(field, StrCat(place, ".", key)));
    if (trained.has_value() && *trained != own) {
      return Refuse(StrCat(place, " has \"weight\" and \"train\", which contradict each other"));
    }
    trained = own;
  }
  RETURN_IF_ERROR(CheckMessage(message, shared, place));
  const bool answers = message.role() == kAssistant;
  if (trained == true && !answers) {
    return Refuse(StrCat(place, " is to be learnt, and is the ", message.role(),
                         "'s; horizon learns what the assistant says, or everything with "
                         "--train-on-prompt"));
  }
  message.trained = answers && trained.value_or(true);
  return message;
}

}  // namespace horizon
