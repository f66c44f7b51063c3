#include <algorithm>
#include <optional>
#include <string>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/chat_format.h"

namespace horizon {
namespace {

constexpr std::string_view kLlamaDates =
    "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return Has(text, part); });
}

// The words between "<|im_start|>system\n" and "<|im_end|>" where they stand in one literal: the
// system prompt of a conversation that brings none. A newline is one, or "\n" as Jinja spells it.
std::string DefaultSystem(std::string_view chat_template) {
  constexpr std::string_view kStart = "<|im_start|>system";
  constexpr std::string_view kEnd = "<|im_end|>";
  for (size_t at = chat_template.find(kStart); at != std::string_view::npos;
       at = chat_template.find(kStart, at + 1)) {
    std::string_view rest = chat_template.substr(at + kStart.size());
    if (rest.substr(0, 2) == "\\n") {
      rest.remove_prefix(2);
    } else if (rest.substr(0, 1) == "\n") {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    const size_t end = rest.find(kEnd);
    if (end == std::string_view::npos) continue;
    const std::string_view words = rest.substr(0, end);
    // A quote ends the literal, a brace or a backslash is none of our business.
    if (words.find_first_of("'\"{}\\") == std::string_view::npos) return std::string(words);
  }
  return "";
}

ChatFormat MistralOf(std::string_view chat_template) {
  return {.markup = ChatMarkup::kMistral,
          .space_after_open = HasAny(chat_template, {"[INST] '", "[INST] \""}),
          .space_before_close = HasAny(chat_template, {"' [/INST]", "\" [/INST]"}),
          .space_before_answer = HasAny(chat_template, {"' ' + message", "\" \" + message"})};
}

std::optional<ChatFormat> FormatOf(std::string_view chat_template) {
  if (HasAny(chat_template, {"<<SYS>>", "[SYSTEM_PROMPT]"})) return std::nullopt;
  if (Has(chat_template, "<|im_start|>") && Has(chat_template, "<|im_end|>")) {
    return ChatFormat{.markup = ChatMarkup::kChatMl,
                      .default_system = DefaultSystem(chat_template)};
  }
  if (Has(chat_template, "<|start_header_id|>") && Has(chat_template, "<|eot_id|>")) {
    const bool dates = Has(chat_template, "Cutting Knowledge Date: December 2023");
    return ChatFormat{.markup = ChatMarkup::kLlama3,
                      .system_preamble = std::string(dates ? kLlamaDates : "")};
  }
  if (Has(chat_template, "[INST]") && Has(chat_template, "[/INST]")) {
    return MistralOf(chat_template);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ChatFormat> RecogniseChatFormat(std::string_view chat_template) {
  if (std::optional<ChatFormat> format = FormatOf(chat_template)) return *std::move(format);
  return absl::InvalidArgumentError(
      StrCat(chat_template.empty()
                 ? "the model has no chat_template, so it is not known how it writes conversations"
                 : "the model's chat_template is of a kind horizon does not know",
             "; choose with --chat-format one of ", WordChoices<ChatMarkup>()));
}

absl::StatusOr<ChatFormat> ChooseChatFormat(std::string_view word, std::string_view chat_template) {
  if (word == "auto") return RecogniseChatFormat(chat_template);
  ASSIGN_OR_RETURN(const ChatMarkup markup, ParseWord<ChatMarkup>(word));
  const std::optional<ChatFormat> own = FormatOf(chat_template);
  return own.has_value() && own->markup == markup ? *own : ChatFormat{.markup = markup};
}

}  // namespace horizon
