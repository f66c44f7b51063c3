#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/chat/conversation.h"

namespace horizon {

// Reads one message of a record, {"role", "content", ...} or {"from", "value", ...};
// read_conversation.h says what is supported. `place` ("messages[2]") names it in errors.
absl::StatusOr<ChatMessage> ReadMessage(const Value& value, std::string_view place);

}  // namespace horizon
