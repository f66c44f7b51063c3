#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/documents/document.h"
#include "model/chat/conversation.h"

namespace horizon {

// Read records of various formats into conversations. A record may also have "tools" (a list, or a
// string that holds one in JSON), "documents" (a list), "chat_template_kwargs" (an object) and,
// except with two lists of messages, "system" (a string: the first message). The assistant's
// messages are trained on, except those with "weight": 0 or "train": false. InvalidArgument, with
// the place in the record, for a wrong type; a message without role or content; content that is not
// text; a key by which other programs say what is trained on ("loss", "mask", ...), since it would
// be ignored; and a record with nothing to train on.

// Reads {KEY: [{"role", "content", ...}]}. Roles and further keys are passed to the chat template,
// which decides what they mean. Messages {"from", "value"} are read as well: human is user, gpt is
// assistant, observation is tool, and function_call is an assistant's tool_calls.
absl::Status ReadMessages(const Value& record, std::string_view key, Conversation& conversation);

// Reads {"instruction", "input", "output"}, also "history": [[question, answer]].
absl::Status ReadAlpaca(const Value& record, Conversation& conversation);

// Reads {"query", "response"}, {"question", "answer"}, {"prompt", "completion"} or {"prompt",
// "response"}: a message of the user and the assistant's answer.
absl::Status ReadQuestion(const Value& record, Conversation& conversation);

// Reads {"prompt": [message, ...], "completion": [message, ...]}; the prompt is not trained on.
absl::Status ReadPromptMessages(const Value& record, Conversation& conversation);

// Reads a string, or the joined text parts of a list [{"type": "text", "text"}]. `what` names the
// value in errors.
absl::Status ReadTextParts(const Value& value, std::string_view what, std::string& joined);

// The error for a value of a wrong type: InvalidArgument "WHAT is an integer; it must be NEEDED".
absl::Status WrongType(std::string_view what, const Value& value, std::string_view needed);

}  // namespace horizon
