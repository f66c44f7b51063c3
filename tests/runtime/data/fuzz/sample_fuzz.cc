// Whatever the bytes, a record is judged; and what is accepted keeps a sample's promises: messages
// with a role and without nulls, something to learn, tokens within their limits.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "runtime/data/sample.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr TokenLimits kLimits = {.sequence = 50, .vocab = 1000};

void CheckConversation(const Conversation& conversation) {
  bool learns = false;
  for (const ChatMessage& message : conversation.messages) {
    CHECK(message.Find("role") != nullptr && message.Find("role")->As<std::string>() != nullptr);
    CHECK(!message.trained || message.role() == "assistant");
    for (const auto& [key, value] : message.fields) {
      CHECK(!value.is_null() && key != "weight" && key != "train");
    }
    learns = learns || message.trained;
  }
  CHECK(learns);
  for (const Value* list : {&conversation.tools, &conversation.documents}) {
    if (list->is_null()) continue;
    for (const Value& each : *list->As<Value::Array>()) CHECK(each.As<Value::Object>() != nullptr);
  }
}

void TryKind(std::string_view json, DataKind kind) {
  Sample sample;
  const absl::Status status = ParseSample(json, kind, kLimits, sample);
  if (!status.ok()) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(!status.message().empty() && status.message().size() < 2000);
    return;
  }
  CHECK(!IsConversation(kind) || !sample.conversation.messages.empty());
  CHECK(sample.prompt_bytes <= sample.text.size());
  if (!sample.conversation.messages.empty()) CheckConversation(sample.conversation);
  if (kind != DataKind::kTokens) return;
  CHECK(!sample.tokens.ids.empty() && sample.tokens.ids.size() <= 50);
  CHECK(sample.tokens.labels.size() == sample.tokens.ids.size());
  for (const int32_t id : sample.tokens.ids) CHECK(id >= 0 && id < 1000);
}

void TryRecord(std::string_view json) {
  const absl::StatusOr<DataKind> kind = DetectKind(json);
  CHECK(kind.ok() || absl::IsInvalidArgument(kind.status()));
  for (const EnumWord<DataKind>& entry : WordsOf(DataKind())) TryKind(json, entry.value);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryRecord({reinterpret_cast<const char*>(data), size});
  return 0;
}
