#include "runtime/data/sample.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "common/document.h"
#include "common/json.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr std::array<EnumWord<DataKind>, 6> kKinds = {{{DataKind::kText, "text"},
                                                       {DataKind::kAlpaca, "alpaca"},
                                                       {DataKind::kMessages, "messages"},
                                                       {DataKind::kShareGpt, "sharegpt"},
                                                       {DataKind::kQa, "qa"},
                                                       {DataKind::kTokens, "tokens"}}};
constexpr int kDepth = 64;
constexpr DocumentLimits kLimits = {.text = 64_MiB, .depth = kDepth, .values = 1'000'000};

struct KeyPair {
  std::string_view question;
  std::string_view answer;
};
constexpr std::array<KeyPair, 4> kQaKeys = {{{"query", "response"},
                                             {"question", "answer"},
                                             {"prompt", "completion"},
                                             {"prompt", "response"}}};

absl::Status Refuse(std::string_view reason) {
  return absl::InvalidArgumentError(std::string(reason));
}

// The parsers put a file and a line of their own before a message; ours are the caller's.
constexpr std::string_view kName = "record";
absl::Status WithoutPlace(const absl::Status& status) {
  std::string_view message(status.message().data(), status.message().size());
  if (message.substr(0, kName.size() + 1) == StrCat(kName, ":")) {
    const size_t space = message.find(' ');
    if (space != std::string_view::npos) message.remove_prefix(space + 1);
  }
  return Refuse(message);
}

// Notes the keys of the outermost object and keeps nothing else.
class KeyHandler final : public JsonHandler {
 public:
  std::vector<std::string> keys;
  bool is_object = false;

  absl::Status OnBeginObject() override {
    if (depth_ == 0) is_object = true;
    ++depth_;
    return absl::OkStatus();
  }
  absl::Status OnEndObject() override { return Leave(); }
  absl::Status OnBeginArray() override {
    ++depth_;
    return absl::OkStatus();
  }
  absl::Status OnEndArray() override { return Leave(); }
  absl::Status OnKey(std::string_view key) override {
    if (depth_ == 1 && is_object && keys.size() < kMostKeys) keys.emplace_back(key);
    return absl::OkStatus();
  }
  absl::Status OnString(std::string_view text) override { return absl::OkStatus(); }
  absl::Status OnNumber(std::string_view literal) override { return absl::OkStatus(); }
  absl::Status OnBool(bool value) override { return absl::OkStatus(); }
  absl::Status OnNull() override { return absl::OkStatus(); }

  bool Has(std::string_view key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }

 private:
  static constexpr size_t kMostKeys = 1000;
  absl::Status Leave() {
    --depth_;
    return absl::OkStatus();
  }
  int depth_ = 0;
};

std::optional<DataKind> KindOf(const KeyHandler& record) {
  if (record.Has("input_ids")) return DataKind::kTokens;
  if (record.Has("messages")) return DataKind::kMessages;
  if (record.Has("conversations")) return DataKind::kShareGpt;
  if (record.Has("instruction") && record.Has("output")) return DataKind::kAlpaca;
  for (const KeyPair& pair : kQaKeys) {
    if (record.Has(pair.question) && record.Has(pair.answer)) return DataKind::kQa;
  }
  if (record.Has("text")) return DataKind::kText;
  return std::nullopt;
}

absl::Status WrongType(std::string_view what, const Value& value, std::string_view needed) {
  return Refuse(StrCat(what, " is ", value.KindName(), "; it must be ", needed));
}

// The parts of a content of several, joined.
absl::Status JoinParts(const Value::Array& parts, std::string_view what, std::string& out) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string place = StrCat(what, "[", i, "]");
    const Value* type = parts[i].Find("type");
    const Value* text = parts[i].Find("text");
    if (parts[i].As<Value::Object>() == nullptr || type == nullptr ||
        type->As<std::string>() == nullptr) {
      return Refuse(StrCat(place, " is no part {\"type\": \"text\", \"text\": ...}"));
    }
    if (*type->As<std::string>() != "text") {
      return Refuse(StrCat(place, " is of the type ", Quoted(*type->As<std::string>()),
                           "; horizon trains on text only"));
    }
    if (text == nullptr || text->As<std::string>() == nullptr) {
      return Refuse(StrCat(place, ".text must be a string"));
    }
    out += *text->As<std::string>();
  }
  return absl::OkStatus();
}

absl::Status ReadWords(const Value& value, std::string_view what, std::string& out) {
  out.clear();
  if (const auto* text = value.As<std::string>()) {
    out = *text;
    return absl::OkStatus();
  }
  if (const auto* parts = value.As<Value::Array>()) return JoinParts(*parts, what, out);
  return WrongType(what, value, "a string");
}

// A key of the record that must be there.
absl::StatusOr<std::string> Required(const Value& record, std::string_view key) {
  const Value* value = record.Find(key);
  if (value == nullptr) return Refuse(StrCat(Quoted(key), " is missing"));
  std::string words;
  RETURN_IF_ERROR(ReadWords(*value, key, words));
  return words;
}

// One that may be missing or null: no words.
absl::StatusOr<std::string> Optional(const Value& record, std::string_view key) {
  const Value* value = record.Find(key);
  if (value == nullptr || value->is_null()) return std::string();
  return Required(record, key);
}

std::optional<ChatRole> RoleOf(std::string_view word) {
  if (word == "system" || word == "developer") return ChatRole::kSystem;
  if (word == "user" || word == "human") return ChatRole::kUser;
  if (word == "assistant" || word == "gpt" || word == "chatgpt") return ChatRole::kAssistant;
  return std::nullopt;
}

absl::Status ReadTurn(const Value& turn, std::string_view place, std::vector<ChatTurn>& turns) {
  if (turn.As<Value::Object>() == nullptr) return WrongType(place, turn, "an object");
  const bool shared = turn.Find("from") != nullptr;
  const std::string_view role_key = shared ? "from" : "role";
  const std::string_view words_key = shared ? "value" : "content";
  const Value* role = turn.Find(role_key);
  const Value* words = turn.Find(words_key);
  if (role == nullptr) return Refuse(StrCat(place, " has neither \"role\" nor \"from\""));
  if (words == nullptr) return Refuse(StrCat(place, ".", words_key, " is missing"));
  const auto* word = role->As<std::string>();
  if (word == nullptr) return WrongType(StrCat(place, ".", role_key), *role, "a string");
  const std::optional<ChatRole> known = RoleOf(*word);
  if (!known.has_value()) {
    return Refuse(StrCat(place, ".", role_key, " is ", Quoted(*word),
                         "; horizon knows system, user (human) and assistant (gpt)"));
  }
  turns.push_back({.role = *known});
  return ReadWords(*words, StrCat(place, ".", words_key), turns.back().content);
}

absl::Status ReadConversation(const Value& record, std::string_view key,
                              std::vector<ChatTurn>& turns) {
  const Value* list = record.Find(key);
  if (list == nullptr) return Refuse(StrCat(Quoted(key), " is missing"));
  const auto* elements = list->As<Value::Array>();
  if (elements == nullptr) return WrongType(key, *list, "an array of turns");
  for (size_t i = 0; i < elements->size(); ++i) {
    RETURN_IF_ERROR(ReadTurn((*elements)[i], StrCat(key, "[", i, "]"), turns));
  }
  return absl::OkStatus();
}

absl::Status ReadHistory(const Value& record, std::vector<ChatTurn>& turns) {
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
      turns.push_back({.role = j == 0 ? ChatRole::kUser : ChatRole::kAssistant});
      RETURN_IF_ERROR(
          ReadWords((*round)[j], StrCat("history[", i, "][", j, "]"), turns.back().content));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAlpaca(const Value& record, std::vector<ChatTurn>& turns) {
  RETURN_IF_ERROR(ReadHistory(record, turns));
  ASSIGN_OR_RETURN(std::string question, Required(record, "instruction"));
  ASSIGN_OR_RETURN(const std::string input, Optional(record, "input"));
  ASSIGN_OR_RETURN(std::string answer, Required(record, "output"));
  if (!input.empty()) question += StrCat(question.empty() ? "" : "\n", input);
  turns.push_back({.role = ChatRole::kUser, .content = std::move(question)});
  turns.push_back({.role = ChatRole::kAssistant, .content = std::move(answer)});
  return absl::OkStatus();
}

absl::Status ReadQa(const Value& record, std::vector<ChatTurn>& turns) {
  const auto* pair = std::find_if(kQaKeys.begin(), kQaKeys.end(), [&](const KeyPair& keys) {
    return record.Find(keys.question) != nullptr && record.Find(keys.answer) != nullptr;
  });
  if (pair == kQaKeys.end()) {
    return Refuse(
        "there is no question with an answer: \"query\" and \"response\" (or "
        "\"question\" and \"answer\", or \"prompt\" and \"completion\")");
  }
  ASSIGN_OR_RETURN(std::string question, Required(record, pair->question));
  ASSIGN_OR_RETURN(std::string answer, Required(record, pair->answer));
  turns.push_back({.role = ChatRole::kUser, .content = std::move(question)});
  turns.push_back({.role = ChatRole::kAssistant, .content = std::move(answer)});
  return absl::OkStatus();
}

// A "system" beside the turns is the first of them.
absl::Status ReadSystem(const Value& record, std::vector<ChatTurn>& turns) {
  ASSIGN_OR_RETURN(std::string words, Optional(record, "system"));
  if (words.empty()) return absl::OkStatus();
  if (!turns.empty() && turns.front().role == ChatRole::kSystem) {
    return Refuse("there are two system prompts: in \"system\" and as a turn");
  }
  turns.insert(turns.begin(), {.role = ChatRole::kSystem, .content = std::move(words)});
  return absl::OkStatus();
}

absl::Status CheckTurns(const std::vector<ChatTurn>& turns) {
  const size_t first = !turns.empty() && turns[0].role == ChatRole::kSystem ? 1 : 0;
  if (std::none_of(turns.begin(), turns.end(),
                   [](const ChatTurn& turn) { return turn.role == ChatRole::kAssistant; })) {
    return Refuse("no turn is the assistant's; there is nothing to learn");
  }
  for (size_t i = first; i < turns.size(); ++i) {
    const ChatRole due = (i - first) % 2 == 0 ? ChatRole::kUser : ChatRole::kAssistant;
    if (turns[i].role != due) {
      return Refuse(StrCat("turn ", i + 1, " is the ", ToString(turns[i].role),
                           "'s, and it is the ", ToString(due), "'s turn to speak"));
    }
    if (due == ChatRole::kAssistant && turns[i].content.empty()) {
      return Refuse(StrCat("turn ", i + 1, ", the assistant's, has no words"));
    }
  }
  if (turns.back().role != ChatRole::kAssistant) {
    return Refuse("the last turn is the user's; an answer must follow");
  }
  return absl::OkStatus();
}

absl::Status ReadTurns(const Value& record, DataKind kind, std::vector<ChatTurn>& turns) {
  turns.clear();
  switch (kind) {
    case DataKind::kAlpaca:
      RETURN_IF_ERROR(ReadAlpaca(record, turns));
      break;
    case DataKind::kQa:
      RETURN_IF_ERROR(ReadQa(record, turns));
      break;
    default:
      RETURN_IF_ERROR(ReadConversation(
          record, kind == DataKind::kMessages ? "messages" : "conversations", turns));
  }
  RETURN_IF_ERROR(ReadSystem(record, turns));
  return CheckTurns(turns);
}

}  // namespace

std::span<const EnumWord<DataKind>> WordsOf(DataKind) { return kKinds; }

absl::StatusOr<DataKind> DetectKind(std::string_view json) {
  KeyHandler record;
  const absl::Status parsed = ParseJsonEvents(kName, json, kDepth, record);
  if (!parsed.ok()) return WithoutPlace(parsed);
  if (!record.is_object) return Refuse("it is not an object {...}");
  if (const std::optional<DataKind> kind = KindOf(record)) return *kind;
  std::string keys;
  for (size_t i = 0; i < record.keys.size() && i < 8; ++i) {
    keys += StrCat(i == 0 ? "" : ", ", Quoted(record.keys[i]));
  }
  return Refuse(StrCat("its keys (", keys,
                       ") are those of no kind of data; known are \"text\", \"instruction\" and "
                       "\"output\", \"messages\", \"conversations\", \"query\" and \"response\", "
                       "\"input_ids\""));
}

absl::Status ParseSample(std::string_view json, DataKind kind, const TokenLimits& limits,
                         Sample& sample) {
  sample.kind = kind;
  if (kind == DataKind::kTokens) return ParseTokenLine(json, limits, sample.tokens);
  const absl::StatusOr<Document> document = ParseJson(std::string(kName), json, kLimits);
  if (!document.ok()) return WithoutPlace(document.status());
  const Value& record = document->root;
  if (record.As<Value::Object>() == nullptr) return WrongType("the record", record, "an object");
  if (IsConversation(kind)) return ReadTurns(record, kind, sample.turns);
  ASSIGN_OR_RETURN(sample.text, Required(record, "text"));
  return absl::OkStatus();
}

}  // namespace horizon
