#include "common/text/wrap.h"

#include <algorithm>
#include <vector>

#include "common/text/columns.h"

namespace horizon {
namespace {

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view kBlank = " \n";
  for (size_t begin = text.find_first_not_of(kBlank); begin != text.npos;) {
    const size_t end = std::min(text.find_first_of(kBlank, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlank, end);
  }
  return words;
}

// A line that begins with spaces.
std::string WrapIndented(std::string_view line, size_t width) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  size_t second = line.find("  ", indent);
  if (second != line.npos) second = line.find_first_not_of(' ', second);
  if (second == line.npos) {
    return std::string(indent, ' ') +
           WrapText(line.substr(indent), {.width = width, .column = indent, .hang = indent});
  }
  return std::string(line.substr(0, second)) +
         WrapText(line.substr(second), {.width = width, .column = second, .hang = second});
}

}  // namespace

std::string WrapParts(std::span<const std::string> parts, const WrapLayout& layout) {
  std::string text;
  size_t column = layout.column;
  bool at_begin = true;
  for (const std::string& part : parts) {
    if (!at_begin && column + 1 + part.size() > layout.width) {
      text += "\n" + std::string(layout.hang, ' ');
      column = layout.hang;
      at_begin = true;
    }
    if (!at_begin) {
      text += ' ';
      ++column;
    }
    text += part;
    column += part.size();
    at_begin = false;
  }
  return text;
}

std::string WrapText(std::string_view text, const WrapLayout& layout) {
  return WrapParts(WordsOf(text), layout);
}

std::string WrapMessage(std::string_view text, const WrapLayout& layout) {
  const auto width_of = [](std::string_view part) { return static_cast<size_t>(ColumnsOf(part)); };
  std::string wrapped;
  size_t column = layout.column;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      wrapped += '\n';
      column = 0;
      ++at;
      continue;
    }
    // A run of spaces and the word behind it.
    const size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find_first_of(" \n", word), text.size());
    const size_t wide = word - at + width_of(text.substr(word, end - word));
    const bool breaks =
        word > at && end > word && column > layout.hang && column + wide > layout.width;
    if (breaks) {
      wrapped += "\n" + std::string(layout.hang, ' ');
      column = layout.hang + wide - (word - at);
      wrapped += text.substr(word, end - word);
    } else {
      wrapped += text.substr(at, end - at);
      column += wide;
    }
    at = end;
  }
  return wrapped;
}

std::string WrapParagraphs(std::string_view text, size_t width) {
  std::string wrapped;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) wrapped += WrapText(paragraph, {.width = width}) + "\n";
    paragraph.clear();
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(' ') == line.npos) {
      end_paragraph();
      wrapped += "\n";
    } else if (line.front() == ' ') {
      end_paragraph();
      wrapped += WrapIndented(line, width) + "\n";
    } else {
      paragraph += std::string(paragraph.empty() ? "" : " ") + std::string(line);
    }
  }
  end_paragraph();
  return wrapped;
}

}  // namespace horizon
