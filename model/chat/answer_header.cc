#include "model/chat/answer_header.h"

#include <algorithm>

namespace horizon {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// Where a tag begins that opens reasoning (<think>, [THINK], <|START_THINKING|>, <seed:think>);
// npos: nowhere.
size_t FindReasoningTag(std::string_view text) {
  const std::string lower = LowerCase(text);
  struct Brackets {
    std::string_view open;
    std::string_view close;
  };
  size_t first = std::string_view::npos;
  for (const Brackets& each : {Brackets{"<", ">"}, Brackets{"[", "]"}, Brackets{"◁", "▷"}}) {
    for (size_t at = lower.find(each.open); at != std::string::npos;
         at = lower.find(each.open, at + 1)) {
      const size_t end = lower.find(each.close, at);
      if (end == std::string::npos) break;
      const std::string_view tag =
          std::string_view(lower).substr(at + each.open.size(), end - at - each.open.size());
      const bool closes = tag.starts_with("/") || tag.starts_with("|/") ||
                          tag.find("end") != std::string_view::npos;
      bool reasons = false;
      for (const std::string_view word : {"think", "thought", "reason"}) {
        reasons = reasons || tag.find(word) != std::string_view::npos;
      }
      if (reasons && !closes) {
        first = std::min(first, at);
        break;
      }
    }
  }
  return first;
}

// The header of a message in a template without a generation prompt: the role and its line.
size_t RoleLine(std::string_view written, size_t words) {
  constexpr std::string_view kRole = "assistant";
  const size_t role = LowerCase(written.substr(0, words)).find(kRole);
  if (role == std::string::npos) return 0;
  const size_t behind = role + kRole.size();
  size_t end = words;
  const size_t line = written.find('\n', behind);
  if (line != std::string_view::npos && line < words) {
    end = std::min(words, written.find_first_not_of('\n', line));
  } else if (words == written.size()) {
    // Without words of the record: what is written together with the role ("|>", ":").
    end = std::min(words, written.find_first_of("< \t", behind));
  } else {
    while (end > behind && written[end - 1] == ' ') --end;
  }
  const size_t tag = FindReasoningTag(written.substr(behind, end - behind));
  return tag == std::string_view::npos ? end : behind + tag;
}

}  // namespace

std::string OpeningOf(std::string_view without_prompt, std::string_view with_prompt) {
  const size_t most = std::min(without_prompt.size(), with_prompt.size());
  size_t same = 0;
  while (same < most && without_prompt[same] == with_prompt[same]) ++same;
  const std::string_view added = with_prompt.substr(same);
  return std::string(added.substr(0, FindReasoningTag(added)));
}

size_t HeaderLength(std::string_view written, size_t words, std::string_view opening) {
  if (!opening.empty() && written.starts_with(opening)) return opening.size();
  // A message may have another space around it, or begin with what both texts had in common.
  for (const std::string_view header : {opening, Trimmed(opening)}) {
    const size_t at = Trimmed(header).empty() ? std::string_view::npos : written.find(header);
    if (at != std::string_view::npos && at + header.size() <= words) return at + header.size();
  }
  return RoleLine(written, words);
}

}  // namespace horizon
