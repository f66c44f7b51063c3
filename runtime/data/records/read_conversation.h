#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/documents/document.h"
#include "model/chat/conversation.h"

namespace horizon {

// Records to conversations. A record may also have "tools" (a list, or a text that is one in JSON),
// "documents" (a list), "chat_template_kwargs" (an object) and, but for messages of two lists,
// "system" (a text, the first message). The messages of the assistant are learnt, unless one says
// "weight": 0 or "train": false. InvalidArgument, with the place in the record: a wrong type, a
// message without role or content, content that is no text, another key of other programs that says
// what is learnt ("loss", "mask", ...; it would be passed over), nothing to learn.

// {KEY: [{"role", "content", ...}]}. Roles and further keys are passed to the template, which
// decides. Messages {"from", "value"} are read as well: human is user, gpt assistant, observation
// tool, and function_call an assistant's tool_calls.
absl::Status ReadMessages(const Value& record, std::string_view key, Conversation& conversation);

// {"instruction", "input", "output"}, also "history": [[question, answer]].
absl::Status ReadAlpaca(const Value& record, Conversation& conversation);

// {"query", "response"}, {"question", "answer"}, {"prompt", "completion"} or {"prompt",
// "response"}: what a user says and the assistant answers.
absl::Status ReadQuestion(const Value& record, Conversation& conversation);

// {"prompt": [message, ...], "completion": [message, ...]}: of the prompt nothing is learnt.
absl::Status ReadPromptMessages(const Value& record, Conversation& conversation);

// A text, or the text parts of a list [{"type": "text", "text"}] joined.
absl::Status ReadWords(const Value& value, std::string_view what, std::string& words);

// InvalidArgument "WHAT is an integer; it must be NEEDED".
absl::Status WrongType(std::string_view what, const Value& value, std::string_view needed);

}  // namespace horizon
