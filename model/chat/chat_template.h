#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/chat/conversation.h"
#include "model/chat/jinja/jinja_template.h"
#include "model/chat/jinja/traced_text.h"
#include "model/tokenizer/load_tokenizer.h"

namespace horizon {

// Whether the beginning of an answer, which the model goes on with, is written behind the messages.
enum class GenerationPrompt { kWithout, kWith };

// Everything that decides what a conversation is written as, besides the conversation.
struct ChatTemplateOptions {
  // A model's templates by name: "default", and "tool_use" for records with tools where there is
  // such a one.
  std::vector<ChatTemplateText> templates;
  // bos_token, eos_token and so on: variables that count as text of the template.
  std::vector<NamedToken> special_tokens;
  // Further variables; a record's chat_template_kwargs win over them.
  Value::Object arguments;
  // What strftime_now writes: seconds since the begin of 1970 (UTC).
  int64_t now = 0;
};

// A model's chat templates, ready to be rendered as transformers renders them:
//
//   ASSIGN_OR_RETURN(const ChatTemplate chat, ChatTemplate::Create(options));
//   ASSIGN_OR_RETURN(const TracedText text, chat.Render(conversation, GenerationPrompt::kWith));
//
// Cheap to copy, never changed once made: any number of threads may use one.
class ChatTemplate {
 public:
  // InvalidArgument "WHERE:LINE: ..." for a template that cannot be read; where none is named
  // "default" or "tool_use", with --chat-template and --chat-format as the remedy; and for an
  // argument with the name of something that a record says (messages, tools, ...).
  static absl::StatusOr<ChatTemplate> Create(const ChatTemplateOptions& options);

  // The text of a conversation, each byte with its origin: text of the record is quoted, but for a
  // role that is a plain word. InvalidArgument where the template refuses the conversation or
  // cannot be rendered, with line and reason; for a conversation without messages; and where the
  // template would print the parts of a content as Python spells lists. ResourceExhausted for a
  // template that goes past the limits (JinjaLimits).
  absl::StatusOr<TracedText> Render(const Conversation& conversation,
                                    GenerationPrompt prompt) const;

  // The template that a conversation is rendered with.
  absl::StatusOr<const JinjaTemplate*> TemplateFor(const Conversation& conversation) const;
  // All of them, by name.
  const std::vector<std::pair<std::string, JinjaTemplate>>& templates() const { return parsed_; }

  // Whether a template asks for the date.
  bool uses_date() const;
  // A text that differs where anything differs that decides what is rendered: templates, special
  // tokens, arguments, and the moment if uses_date().
  std::string Identity() const;

 private:
  std::vector<std::pair<std::string, JinjaTemplate>> parsed_;
  std::vector<NamedToken> special_tokens_;
  Value::Object arguments_;
  int64_t now_ = 0;
};

// InvalidArgument for an argument named like what the record itself says: messages, tools,
// documents, add_generation_prompt. `what` names the arguments in the message.
absl::Status CheckTemplateArguments(const Value::Object& arguments, std::string_view what);

}  // namespace horizon
