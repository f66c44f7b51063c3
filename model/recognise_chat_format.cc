#include <initializer_list>
#include <optional>
#include <string>

#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/chat_format.h"
#include "model/compact_template.h"

namespace horizon {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

size_t CountOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

absl::Status Unknown(std::string_view why) { return absl::InvalidArgumentError(std::string(why)); }

// What `text` has between `begin` and the next `end`; nothing if it does not have both.
std::optional<std::string> Between(std::string_view text, std::string_view begin,
                                   std::string_view end) {
  const size_t at = text.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + begin.size());
  const size_t length = rest.find(end);
  if (length == std::string_view::npos) return std::nullopt;
  return std::string(rest.substr(0, length));
}

// The words between "<|im_start|>system\n" and "<|im_end|>" where they stand in one literal: the
// system prompt of a conversation that brings none. A newline is one, or "\n" as Jinja spells it.
absl::StatusOr<std::string> DefaultSystem(std::string_view compact) {
  constexpr std::string_view kStart = "<|im_start|>system";
  constexpr std::string_view kEnd = "<|im_end|>";
  std::string found;
  for (size_t at = compact.find(kStart); at != std::string_view::npos;
       at = compact.find(kStart, at + 1)) {
    std::string_view rest = compact.substr(at + kStart.size());
    if (rest.substr(0, 2) == "\\n") {
      rest.remove_prefix(2);
    } else if (rest.substr(0, 1) == "\n") {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    // The words come from somewhere else: the conversation's own, as far as we can see.
    if (rest.empty() || rest[0] == '\'' || rest.substr(0, 2) == "{{") continue;
    const size_t end = rest.find(kEnd);
    const std::string_view words = rest.substr(0, end);
    if (end == std::string_view::npos || words.find_first_of("'\"{}\\") != std::string_view::npos ||
        (!found.empty() && found != words)) {
      return Unknown("it says words of its own in the system's turn");
    }
    found = words;
  }
  return found;
}

// Qwen3's: the last answer is given with its reasoning, empty if it has none; those before without.
bool ThinksAsQwen3(std::string_view compact) {
  return Has(compact,
             "'\\n<think>\\n'+reasoning_content.strip('\\n')+'\\n</think>\\n\\n'+"
             "content.lstrip('\\n')") &&
         Has(compact, "ifloop.index0>ns.last_query_index") &&
         Has(compact, "ifloop.lastor(notloop.lastandreasoning_content)") &&
         CountOf(compact, "'<|im_start|>assistant\\n'}}") ==
             CountOf(compact, "'<|im_start|>assistant") &&
         !Has(compact, "'<think>\\n'") && !Has(compact, "'<think>\\n\\n'");
}

absl::StatusOr<ChatFormat> ChatMlOf(std::string_view compact) {
  if (Has(compact, "<|im_sep|>")) return Unknown("it separates roles by <|im_sep|>");
  bool breaks = false;
  for (const std::string_view end : {"<|im_end|>\\n", "<|im_end|>\n", "<|im_end|>'+'\\n'"}) {
    breaks = breaks || Has(compact, end);
  }
  if (!breaks) return Unknown("it has no newline behind <|im_end|>");
  const bool thinks = Has(compact, "</think>");
  if (thinks && !ThinksAsQwen3(compact)) {
    return Unknown("it writes reasoning (</think>) otherwise than Qwen3's");
  }
  ASSIGN_OR_RETURN(std::string system, DefaultSystem(compact));
  return ChatFormat{.markup = ChatMarkup::kChatMl,
                    .default_system = std::move(system),
                    .thinks = thinks,
                    .takes_prefix = Has(compact, "bos_token")};
}

absl::StatusOr<ChatFormat> Llama3Of(std::string_view compact) {
  if (!Has(compact,
           "'<|start_header_id|>'+message.role+'<|end_header_id|>\\n\\n'+content|trim+"
           "'<|eot_id|>'")) {
    return Unknown("it has Llama-3's tokens, but writes turns otherwise");
  }
  ChatFormat format = {.markup = ChatMarkup::kLlama3};
  if (!Has(compact, "Cutting Knowledge Date")) return format;
  // Llama-3.2's writes the day on which it is rendered; the date it has for want of one makes the
  // same data the same tokens on every day.
  const std::optional<std::string> date = Between(compact, "setdate_string='", "'");
  if (!date.has_value() || !Has(compact, "'Cutting Knowledge Date: December 2023\\n'}}") ||
      !Has(compact, "'Today Date: '+date_string+'\\n\\n'}}")) {
    return Unknown("it writes the dates of Llama-3.1 otherwise");
  }
  format.system_preamble =
      StrCat("Cutting Knowledge Date: December 2023\nToday Date: ", *date, "\n\n");
  return format;
}

absl::StatusOr<ChatFormat> MistralOf(std::string_view compact) {
  ChatFormat format = {.markup = ChatMarkup::kMistral};
  const size_t opens = CountOf(compact, "[INST]");
  format.space_before_open = CountOf(compact, "' [INST] '") == opens;
  format.space_after_open = format.space_before_open || CountOf(compact, "'[INST] '") == opens;
  if (!format.space_after_open && CountOf(compact, "'[INST]'") != opens) {
    return Unknown("it has words of its own beside [INST]");
  }
  const size_t closes = CountOf(compact, "[/INST]");
  format.space_before_close = CountOf(compact, "' [/INST]'") == closes;
  if (!format.space_before_close && CountOf(compact, "'[/INST]'") != closes) {
    return Unknown("it has words of its own beside [/INST]");
  }
  format.trims_answer = Has(compact, "{{' '+content|trim+eos_token}}");
  format.space_before_answer = format.trims_answer || Has(compact, "{{' '+content+eos_token}}");
  if (!format.space_before_answer && !Has(compact, "{{content+eos_token}}")) {
    return Unknown("it has the tokens of Mistral, but writes answers otherwise");
  }
  format.system_in_last_question = Has(compact, "loop.lastandsystem_messageisdefined");
  return format;
}

absl::StatusOr<ChatFormat> FormatOf(std::string_view chat_template) {
  if (chat_template.empty()) return Unknown("there is none");
  const std::string compact = CompactTemplate(chat_template);
  for (const std::string_view marker : {"<<SYS>>", "[SYSTEM_PROMPT]"}) {
    if (Has(compact, marker)) return Unknown(StrCat("it writes ", marker));
  }
  if (Has(compact, "<|im_start|>") && Has(compact, "<|im_end|>")) return ChatMlOf(compact);
  if (Has(compact, "<|start_header_id|>") && Has(compact, "<|eot_id|>")) return Llama3Of(compact);
  if (Has(compact, "[INST]") && Has(compact, "[/INST]")) return MistralOf(compact);
  return Unknown("it has the tokens of no format that horizon knows");
}

}  // namespace

absl::StatusOr<ChatFormat> RecogniseChatFormat(std::string_view chat_template) {
  absl::StatusOr<ChatFormat> format = FormatOf(chat_template);
  if (format.ok()) return format;
  return absl::InvalidArgumentError(
      StrCat("how the model writes conversations cannot be read from its chat_template: ",
             std::string(format.status().message()), "; choose with --chat-format one of ",
             WordChoices<ChatMarkup>()));
}

absl::StatusOr<ChatFormat> ChooseChatFormat(std::string_view word, std::string_view chat_template) {
  if (word == "auto") return RecogniseChatFormat(chat_template);
  ASSIGN_OR_RETURN(const ChatMarkup markup, ParseWord<ChatMarkup>(word));
  const absl::StatusOr<ChatFormat> own = FormatOf(chat_template);
  return own.ok() && own->markup == markup ? *own : ChatFormat{.markup = markup};
}

}  // namespace horizon
