#include "runtime/data/sample.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "runtime/data/records/read_conversation.h"

namespace horizon {
namespace {

constexpr std::array<EnumWord<DataKind>, 7> kKinds = {
    {{DataKind::kText, "text"},
     {DataKind::kAlpaca, "alpaca"},
     {DataKind::kMessages, "messages"},
     {DataKind::kShareGpt, "sharegpt"},
     {DataKind::kQa, "qa"},
     {DataKind::kPromptCompletion, "prompt-completion"},
     {DataKind::kTokens, "tokens"}}};
constexpr int kDepth = 64;
constexpr DocumentLimits kLimits = {.text = 64_MiB, .depth = kDepth, .values = 1'000'000};

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
  if (record.Has("prompt") && record.Has("completion")) return DataKind::kPromptCompletion;
  for (const auto& [question, answer] :
       {std::pair<std::string_view, std::string_view>{"query", "response"},
        {"question", "answer"},
        {"prompt", "response"}}) {
    if (record.Has(question) && record.Has(answer)) return DataKind::kQa;
  }
  if (record.Has("text")) return DataKind::kText;
  return std::nullopt;
}

absl::Status ReadText(const Value& record, std::string_view key, std::string& text) {
  const Value* value = record.Find(key);
  if (value == nullptr) return Refuse(StrCat(Quoted(key), " is missing"));
  return ReadTextParts(*value, key, text);
}

// Two texts, or two lists of messages.
absl::Status ReadPromptCompletion(const Value& record, Sample& sample) {
  const Value* prompt = record.Find("prompt");
  const Value* completion = record.Find("completion");
  if (prompt == nullptr) return Refuse("\"prompt\" is missing");
  if (completion == nullptr) return Refuse("\"completion\" is missing");
  if (prompt->As<Value::Array>() != nullptr && completion->As<Value::Array>() != nullptr) {
    return ReadPromptMessages(record, sample.conversation);
  }
  const auto* first = prompt->As<std::string>();
  const auto* second = completion->As<std::string>();
  if (first == nullptr || second == nullptr) {
    return Refuse(StrCat("prompt is ", prompt->KindName(), " and completion is ",
                         completion->KindName(),
                         "; both must be strings, or both arrays of messages"));
  }
  sample.text = *first;
  sample.text += *second;
  sample.prompt_bytes = first->size();
  return absl::OkStatus();
}

absl::Status ReadRecord(const Value& record, Sample& sample) {
  switch (sample.kind) {
    case DataKind::kText:
      return ReadText(record, "text", sample.text);
    case DataKind::kAlpaca:
      return ReadAlpaca(record, sample.conversation);
    case DataKind::kMessages:
      return ReadMessages(record, "messages", sample.conversation);
    case DataKind::kShareGpt:
      return ReadMessages(record, "conversations", sample.conversation);
    case DataKind::kQa:
      return ReadQuestion(record, sample.conversation);
    case DataKind::kPromptCompletion:
      return ReadPromptCompletion(record, sample);
    case DataKind::kTokens:
      break;  // read without a tree
  }
  return absl::OkStatus();
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
  return Refuse(
      StrCat("its keys (", keys,
             ") are those of no kind of data; known are \"text\", \"instruction\" and "
             "\"output\", \"messages\", \"conversations\", \"prompt\" and \"completion\", "
             "\"query\" and \"response\", \"input_ids\""));
}

absl::Status ParseSample(std::string_view json, DataKind kind, const TokenLimits& limits,
                         Sample& sample) {
  sample.kind = kind;
  sample.text.clear();
  sample.prompt_bytes = 0;
  sample.conversation = {};
  if (kind == DataKind::kTokens) return ParseTokenLine(json, limits, sample.tokens);
  const absl::StatusOr<Document> document = ParseJson(std::string(kName), json, kLimits);
  if (!document.ok()) return WithoutPlace(document.status());
  const Value& record = document->root;
  if (record.As<Value::Object>() == nullptr) return WrongType("the record", record, "an object");
  return ReadRecord(record, sample);
}

}  // namespace horizon
