#include "model/chat_format.h"

#include <array>
#include <utility>

#include "common/check.h"
#include "common/quote.h"
#include "common/str_cat.h"
#include "common/utf8.h"

namespace horizon {
namespace {

constexpr std::array<EnumWord<ChatRole>, 3> kRoles = {{{ChatRole::kSystem, "system"},
                                                       {ChatRole::kUser, "user"},
                                                       {ChatRole::kAssistant, "assistant"}}};
constexpr std::array<EnumWord<ChatMarkup>, 4> kMarkups = {{{ChatMarkup::kChatMl, "chatml"},
                                                           {ChatMarkup::kLlama3, "llama3"},
                                                           {ChatMarkup::kMistral, "mistral"},
                                                           {ChatMarkup::kPlain, "plain"}}};

// Whether `character`, one of UTF-8, is what Python's str.strip takes off.
bool IsPythonSpace(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
  }
  for (const std::string_view space :
       {"\u0085", "\u00a0", "\u1680", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"}) {
    if (character == space) return true;
  }
  return character >= "\u2000" && character <= "\u200a" && character.size() == 3;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0 || !IsPythonSpace(text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 &&
           (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) {
      --begin;
    }
    if (!IsPythonSpace(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

// Puts the segments together: text that follows text of the same kind is one segment with it.
class Renderer {
 public:
  void Markup(std::string_view token) {
    segments_.push_back({.text = std::string(token), .is_markup = true});
  }
  void Text(std::string_view text) {
    if (text.empty()) return;
    if (segments_.empty() || segments_.back().is_markup || segments_.back().is_answer) {
      segments_.push_back({});
    }
    segments_.back().text.append(text);
  }
  // An answer is a segment of its own: a model that answers begins with the first of its tokens.
  void Answer(std::string_view text, std::string_view end) {
    if (!text.empty()) segments_.push_back({.text = std::string(text), .is_answer = true});
    segments_.push_back({.text = std::string(end), .is_markup = true, .is_answer = true});
  }
  std::vector<ChatSegment> Finish() && { return std::move(segments_); }

 private:
  std::vector<ChatSegment> segments_;
};

// `text` without its newlines at one end or the other.
std::string_view SkipNewlines(std::string_view text) {
  const size_t begin = text.find_first_not_of('\n');
  return begin == std::string_view::npos ? "" : text.substr(begin);
}
std::string_view DropNewlines(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// An answer as Qwen3's template writes it: where there are several tags the words behind the last
// </think> are said, and the reasoning is what the last <think> before the first </think> begins.
std::string WithReasoning(std::string_view words, bool is_last) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  std::string_view reasoning;
  if (const size_t end = words.find(kClose); end != std::string_view::npos) {
    reasoning = DropNewlines(words.substr(0, end));
    const size_t begin = reasoning.rfind(kOpen);
    if (begin != std::string_view::npos) reasoning.remove_prefix(begin + kOpen.size());
    reasoning = DropNewlines(SkipNewlines(reasoning));
    words = SkipNewlines(words.substr(words.rfind(kClose) + kClose.size()));
  }
  if (!is_last) return std::string(words);
  return StrCat(kOpen, "\n", reasoning, "\n", kClose, "\n\n", SkipNewlines(words));
}

void OpenChatMl(Renderer& out, ChatRole role) {
  out.Markup("<|im_start|>");
  out.Text(StrCat(ToString(role), "\n"));
}

void RenderChatMl(const ChatFormat& format, std::span<const ChatTurn> turns, Renderer& out) {
  const auto say = [&](ChatRole role, std::string_view words) {
    OpenChatMl(out, role);
    if (role == ChatRole::kAssistant) {
      out.Answer(words, "<|im_end|>");
    } else {
      out.Text(words);
      out.Markup("<|im_end|>");
    }
    out.Text("\n");
  };
  if (!format.default_system.empty() && turns.front().role != ChatRole::kSystem) {
    say(ChatRole::kSystem, format.default_system);
  }
  for (const ChatTurn& turn : turns) {
    const bool thinks = format.thinks && turn.role == ChatRole::kAssistant;
    say(turn.role, thinks ? WithReasoning(turn.content, &turn == &turns.back()) : turn.content);
  }
}

void OpenLlama3(Renderer& out, ChatRole role) {
  out.Markup("<|start_header_id|>");
  out.Text(ToString(role));
  out.Markup("<|end_header_id|>");
  out.Text("\n\n");
}

void RenderLlama3(const ChatFormat& format, std::span<const ChatTurn> turns, Renderer& out) {
  const auto say = [&](ChatRole role, std::string_view words) {
    OpenLlama3(out, role);
    if (role == ChatRole::kAssistant) {
      out.Answer(words, "<|eot_id|>");
    } else {
      out.Text(words);
      out.Markup("<|eot_id|>");
    }
  };
  out.Markup("<|begin_of_text|>");
  std::string_view system;
  if (turns.front().role == ChatRole::kSystem) {
    system = Trimmed(turns.front().content);
    turns = turns.subspan(1);
    say(ChatRole::kSystem, StrCat(format.system_preamble, system));
  } else if (!format.system_preamble.empty()) {
    say(ChatRole::kSystem, format.system_preamble);
  }
  for (const ChatTurn& turn : turns) say(turn.role, Trimmed(turn.content));
}

void RenderMistral(const ChatFormat& format, std::span<const ChatTurn> turns, Renderer& out) {
  out.Markup("<s>");
  std::string system;
  if (turns.front().role == ChatRole::kSystem) {
    system = StrCat(turns.front().content, "\n\n");
    turns = turns.subspan(1);
  }
  size_t addressed = 0;
  for (size_t i = 0; format.system_in_last_question && i < turns.size(); ++i) {
    if (turns[i].role == ChatRole::kUser) addressed = i;
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    const std::string& words = turns[i].content;
    if (turns[i].role == ChatRole::kUser) {
      if (format.space_before_open) out.Text(" ");
      out.Markup("[INST]");
      out.Text(StrCat(format.space_after_open ? " " : "", i == addressed ? system : "", words,
                      format.space_before_close ? " " : ""));
      out.Markup("[/INST]");
    } else {
      out.Answer(StrCat(format.space_before_answer ? " " : "",
                        format.trims_answer ? Trimmed(words) : words),
                 "</s>");
    }
  }
}

void RenderPlain(std::span<const ChatTurn> turns, Renderer& out) {
  for (const ChatTurn& turn : turns) {
    if (turn.role == ChatRole::kAssistant) {
      out.Answer(turn.content, "");
    } else {
      out.Text(StrCat(turn.content, "\n"));
    }
  }
}

void Render(const ChatFormat& format, std::span<const ChatTurn> turns, Renderer& out) {
  CHECK(!turns.empty());
  switch (format.markup) {
    case ChatMarkup::kChatMl:
      return RenderChatMl(format, turns, out);
    case ChatMarkup::kLlama3:
      return RenderLlama3(format, turns, out);
    case ChatMarkup::kMistral:
      return RenderMistral(format, turns, out);
    case ChatMarkup::kPlain:
      return RenderPlain(turns, out);
  }
}

std::vector<std::string_view> TokensOf(ChatMarkup markup) {
  switch (markup) {
    case ChatMarkup::kChatMl:
      return {"<|im_start|>", "<|im_end|>"};
    case ChatMarkup::kLlama3:
      return {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
    case ChatMarkup::kMistral:
      // [INST] is a token of the newer vocabularies only.
      return {"<s>", "</s>"};
    case ChatMarkup::kPlain:
      return {};
  }
  return {};
}

}  // namespace

std::span<const EnumWord<ChatRole>> WordsOf(ChatRole) { return kRoles; }
std::span<const EnumWord<ChatMarkup>> WordsOf(ChatMarkup) { return kMarkups; }

std::vector<ChatSegment> RenderChat(const ChatFormat& format, std::span<const ChatTurn> turns) {
  Renderer out;
  Render(format, turns, out);
  return std::move(out).Finish();
}

std::vector<ChatSegment> RenderChatPrompt(const ChatFormat& format,
                                          std::span<const ChatTurn> turns) {
  Renderer out;
  Render(format, turns, out);
  if (format.markup == ChatMarkup::kChatMl) OpenChatMl(out, ChatRole::kAssistant);
  if (format.markup == ChatMarkup::kLlama3) OpenLlama3(out, ChatRole::kAssistant);
  return std::move(out).Finish();
}

bool TakesPrefix(const ChatFormat& format) {
  return format.markup == ChatMarkup::kPlain ||
         (format.markup == ChatMarkup::kChatMl && format.takes_prefix);
}

std::string_view EndOfAnswer(const ChatFormat& format) {
  switch (format.markup) {
    case ChatMarkup::kChatMl:
      return "<|im_end|>";
    case ChatMarkup::kLlama3:
      return "<|eot_id|>";
    case ChatMarkup::kMistral:
      return "</s>";
    case ChatMarkup::kPlain:
      return "";
  }
  return "";
}

absl::Status CheckChatTokens(const ChatFormat& format, const Tokenizer& tokenizer) {
  for (const std::string_view token : TokensOf(format.markup)) {
    if (tokenizer.IdOf(token).has_value()) continue;
    return absl::InvalidArgumentError(
        StrCat("the chat format ", ToString(format.markup), " needs the token ", Quoted(token),
               ", which the model's tokenizer does not have; choose another with --chat-format (",
               WordChoices<ChatMarkup>(), ")"));
  }
  return absl::OkStatus();
}

}  // namespace horizon
