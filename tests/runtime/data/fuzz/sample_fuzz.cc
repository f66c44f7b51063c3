// Whatever the bytes, a record is judged; and what is accepted keeps a sample's promises: turns in
// order, an answer with words, tokens within their limits. Rendering it ends every answer once.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "model/chat_format.h"
#include "runtime/data/sample.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr TokenLimits kLimits = {.sequence = 50, .vocab = 1000};

void CheckTurns(const std::vector<ChatTurn>& turns) {
  const size_t first = turns.front().role == ChatRole::kSystem ? 1 : 0;
  size_t answers = 0;
  for (size_t i = first; i < turns.size(); ++i) {
    const bool asks = (i - first) % 2 == 0;
    CHECK(turns[i].role == (asks ? ChatRole::kUser : ChatRole::kAssistant));
    CHECK(asks || !turns[i].content.empty());
    answers += asks ? 0 : 1;
  }
  CHECK(turns.back().role == ChatRole::kAssistant);
  for (const ChatMarkup markup :
       {ChatMarkup::kChatMl, ChatMarkup::kLlama3, ChatMarkup::kMistral, ChatMarkup::kPlain}) {
    size_t ends = 0;
    for (const ChatSegment& segment : RenderChat({.markup = markup}, turns)) {
      ends += segment.is_markup && segment.is_answer ? 1 : 0;
    }
    CHECK(ends == answers);
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
  if (IsConversation(kind)) CheckTurns(sample.turns);
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
