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

// Whether the rendered text ends with the beginning of an answer (the generation prompt), which the
// model then continues.
enum class GenerationPrompt { kWithout, kWith };

// Everything besides the conversation that determines the rendered text.
struct ChatTemplateOptions {
  // The model's templates by name: "default", and "tool_use" for records with tools, if there is
  // one.
  std::vector<ChatTemplateText> templates;
  // Variables such as bos_token and eos_token. Their values count as text of the template.
  std::vector<NamedToken> special_tokens;
  // More variables for the template. The chat_template_kwargs of a record take precedence over
  // them.
  Value::Object arguments;
  // The time that strftime_now formats: seconds since the beginning of 1970 (UTC).
  int64_t now = 0;
};

// The chat templates of a model. Renders conversations as transformers does:
//
//   ASSIGN_OR_RETURN(const ChatTemplate chat, ChatTemplate::Create(options));
//   ASSIGN_OR_RETURN(const TracedText text, chat.Render(conversation, GenerationPrompt::kWith));
//
// Cheap to copy and immutable: any number of threads may use one.
class ChatTemplate {
 public:
  // Returns InvalidArgument "WHERE:LINE: ..." for a template that cannot be parsed; if no template
  // is named "default" or "tool_use" (the message suggests --chat-template and --chat-format); and
  // for an argument with the name of a field of the record (messages, tools, ...).
  static absl::StatusOr<ChatTemplate> Create(const ChatTemplateOptions& options);

  // Renders a conversation; each byte of the text has its origin. Text of the record is quoted,
  // except a role that is a plain word. Returns InvalidArgument, with line and reason, if the
  // template refuses the conversation or cannot be rendered; for a conversation without messages;
  // and if the template would print the parts of a content like a Python list. Returns
  // ResourceExhausted for a template that exceeds its limits (JinjaLimits).
  absl::StatusOr<TracedText> Render(const Conversation& conversation,
                                    GenerationPrompt prompt) const;

  // The template that a conversation is rendered with.
  absl::StatusOr<const JinjaTemplate*> TemplateFor(const Conversation& conversation) const;
  // All parsed templates with their names.
  const std::vector<std::pair<std::string, JinjaTemplate>>& templates() const { return parsed_; }

  // Whether a template uses the current date.
  bool uses_date() const;
  // A text that identifies everything that determines the rendered text: templates, special tokens,
  // arguments, and the time if uses_date().
  std::string Identity() const;

 private:
  std::vector<std::pair<std::string, JinjaTemplate>> parsed_;
  std::vector<NamedToken> special_tokens_;
  Value::Object arguments_;
  int64_t now_ = 0;
};

// Returns InvalidArgument if an argument has the name of something that the record itself provides:
// messages, tools, documents, add_generation_prompt. `what` names the arguments in the message.
absl::Status CheckTemplateArguments(const Value::Object& arguments, std::string_view what);

}  // namespace horizon
