#include "model/chat/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/chat/date_text.h"
#include "model/chat/jinja/jinja_value.h"
#include "model/chat/write_json.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

constexpr std::string_view kRemedy =
    "name a template with --chat-template FILE, or choose a format with --chat-format";
// What render_jinja_template of transformers takes besides the variables of the template.
constexpr std::array<std::string_view, 4> kReserved = {"messages", "tools", "documents",
                                                       "add_generation_prompt"};
// The names of a message's reasoning; the first is the one that templates read
// (_REASONING_FIELDS of transformers 5.23).
constexpr std::array<std::string_view, 3> kReasoning = {"reasoning_content", "thinking",
                                                        "reasoning"};
constexpr std::string_view kDateFunction = "strftime_now";

// A message's keys as transformers passes them: the reasoning under every name that templates know.
Value::Object WithReasoningAliases(const ChatMessage& message) {
  const Value* reasoning = nullptr;
  for (const std::string_view name : kReasoning) {
    if (reasoning == nullptr) reasoning = message.Find(name);
  }
  if (reasoning == nullptr) return message.fields;
  Value::Object fields;
  const Value* thinking = message.Find("thinking");
  fields.emplace_back("thinking", thinking == nullptr ? *reasoning : *thinking);
  for (const auto& [key, value] : message.fields) {
    if (key == "thinking") continue;
    fields.emplace_back(key, key == kReasoning[0] ? *reasoning : value);
  }
  if (message.Find(kReasoning[0]) == nullptr) fields.emplace_back(kReasoning[0], *reasoning);
  return fields;
}

JinjaValue MessageValue(const ChatMessage& message, int32_t number) {
  JinjaValue::Entries entries;
  for (const auto& [key, value] : WithReasoningAliases(message)) {
    const auto* word = key == "role" ? value.As<std::string>() : nullptr;
    JinjaValue own = word != nullptr && IsPlainWord(*word)
                         ? JinjaValue::String(TracedText(*word, {.message = number}))
                         : JinjaValue::FromDocument(value, number);
    entries.emplace_back(JinjaValue::Quoted(key, number), std::move(own));
  }
  return JinjaValue::Message(std::move(entries), number);
}

bool HasParts(const Conversation& conversation) {
  return std::any_of(conversation.messages.begin(), conversation.messages.end(),
                     [](const ChatMessage& message) {
                       const Value* content = message.Find("content");
                       return content != nullptr && content->As<Value::Array>() != nullptr;
                     });
}

}  // namespace

absl::Status CheckTemplateArguments(const Value::Object& arguments, std::string_view what) {
  for (const auto& [name, value] : arguments) {
    if (std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end()) continue;
    return absl::InvalidArgumentError(
        StrCat(what, " has ", Quoted(name), ", which is no argument: ",
               name == "add_generation_prompt" ? "horizon sets it itself"
                                               : "the record says it beside its messages"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ChatTemplate> ChatTemplate::Create(const ChatTemplateOptions& options) {
  RETURN_IF_ERROR(CheckTemplateArguments(options.arguments, "--chat-template-args"));
  ChatTemplate chat;
  for (const ChatTemplateText& each : options.templates) {
    // Others are for their own purposes ("rag"); nothing renders them.
    if (each.name != "default" && each.name != "tool_use") continue;
    std::string storage;
    if (WithValidUtf8(each.text, storage).data() != each.text.data()) {
      return absl::InvalidArgumentError(StrCat(each.where, ": the chat template is no UTF-8 text"));
    }
    ASSIGN_OR_RETURN(JinjaTemplate parsed, JinjaTemplate::Parse(each.text, each.where));
    chat.parsed_.emplace_back(each.name, std::move(parsed));
  }
  if (chat.parsed_.empty()) {
    return absl::InvalidArgumentError(
        options.templates.empty()
            ? StrCat("the model has no chat template, so it is not known how it writes "
                     "conversations; ",
                     kRemedy)
            : StrCat("the model has chat templates, but none that is named \"default\"; ",
                     kRemedy));
  }
  chat.special_tokens_ = options.special_tokens;
  chat.arguments_ = options.arguments;
  chat.now_ = options.now;
  return chat;
}

absl::StatusOr<const JinjaTemplate*> ChatTemplate::TemplateFor(
    const Conversation& conversation) const {
  const JinjaTemplate* chosen = nullptr;
  for (const auto& [name, parsed] : parsed_) {
    if (name == "default" && chosen == nullptr) chosen = &parsed;
    if (name == "tool_use" && !conversation.tools.is_null()) chosen = &parsed;
  }
  if (chosen != nullptr) return chosen;
  return absl::InvalidArgumentError(
      StrCat("the model's only chat template is for records with tools; ", kRemedy));
}

absl::StatusOr<TracedText> ChatTemplate::Render(const Conversation& conversation,
                                                GenerationPrompt prompt) const {
  if (conversation.messages.empty()) {
    return absl::InvalidArgumentError("the conversation has no messages");
  }
  RETURN_IF_ERROR(CheckTemplateArguments(conversation.arguments, "chat_template_kwargs"));
  ASSIGN_OR_RETURN(const JinjaTemplate* const chosen, TemplateFor(conversation));
  JinjaVariables variables;
  for (const NamedToken& token : special_tokens_) {
    variables[token.name] = JinjaValue::Template(token.text);
  }
  for (const auto& [name, value] : arguments_)
    variables[name] = JinjaValue::FromDocument(value, -1);
  for (const auto& [name, value] : conversation.arguments) {
    variables[name] = JinjaValue::FromDocument(value, -1);
  }
  std::vector<JinjaValue> messages;
  messages.reserve(conversation.messages.size());
  for (const ChatMessage& message : conversation.messages) {
    messages.push_back(MessageValue(message, static_cast<int32_t>(messages.size())));
  }
  variables["messages"] = JinjaValue::List(std::move(messages));
  variables["tools"] = JinjaValue::FromDocument(conversation.tools, -1);
  variables["documents"] = JinjaValue::FromDocument(conversation.documents, -1);
  variables["add_generation_prompt"] = JinjaValue::Bool(prompt == GenerationPrompt::kWith);
  JinjaOptions options;
  options.strftime_now = [this](std::string_view format) { return DateText(format, now_); };
  ASSIGN_OR_RETURN(TracedText text, chosen->Render(variables, options));
  if (HasParts(conversation) && text.text().find("[{'type': '") != std::string::npos) {
    return absl::InvalidArgumentError(
        "the chat template prints content that is a list of parts as a list of Python's; write "
        "\"content\" as one string");
  }
  return text;
}

bool ChatTemplate::uses_date() const {
  return std::any_of(parsed_.begin(), parsed_.end(), [](const auto& each) {
    return each.second.source().find(kDateFunction) != std::string::npos;
  });
}

std::string ChatTemplate::Identity() const {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject().Key("templates").BeginArray();
  for (const auto& [name, parsed] : parsed_) json.String(name).String(parsed.source());
  json.EndArray().Key("tokens").BeginArray();
  for (const NamedToken& token : special_tokens_) json.String(token.name).String(token.text);
  json.EndArray().Key("arguments").BeginObject();
  for (const auto& [name, value] : arguments_) {
    json.Key(name);
    WriteJson(value, json);
  }
  json.EndObject();
  if (uses_date()) json.Key("now").Integer(now_);
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
