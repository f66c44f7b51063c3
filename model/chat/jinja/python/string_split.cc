#include "model/chat/jinja/python/string_split.h"

#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

// [begin, end) in bytes.
using Part = std::pair<size_t, size_t>;

bool IsLineEnd(char32_t character) {
  return (character >= 0x0A && character <= 0x0D) || (character >= 0x1C && character <= 0x1E) ||
         character == 0x85 || character == 0x2028 || character == 0x2029;
}

std::vector<Part> SplitAtSpace(std::string_view text, int64_t most) {
  std::vector<Part> parts;
  size_t at = SkipLeft(text, nullptr);
  while (at < text.size()) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      parts.emplace_back(at, text.size());
      break;
    }
    size_t end = at;
    while (end < text.size()) {
      size_t next = end;
      if (IsPythonSpace(NextCharacter(text, next))) break;
      end = next;
    }
    parts.emplace_back(at, end);
    at = end + SkipLeft(text.substr(end), nullptr);
  }
  return parts;
}

std::vector<Part> RsplitAtSpace(std::string_view text, int64_t most) {
  std::vector<Part> parts;
  size_t end = SkipRight(text, nullptr);
  while (end > 0) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      parts.emplace_back(0, end);
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      const size_t before = LastCharacterBegin(text, begin);
      size_t next = before;
      if (IsPythonSpace(NextCharacter(text, next))) break;
      begin = before;
    }
    parts.emplace_back(begin, end);
    end = SkipRight(text.substr(0, begin), nullptr);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Part> SplitAt(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<Part> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator);
       at != std::string_view::npos && (most < 0 || static_cast<int64_t>(parts.size()) < most);
       at = text.find(separator, begin)) {
    parts.emplace_back(begin, at);
    begin = at + separator.size();
  }
  parts.emplace_back(begin, text.size());
  return parts;
}

std::vector<Part> RsplitAt(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<Part> parts;
  size_t end = text.size();
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t at = text.substr(0, end).rfind(separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(at + separator.size(), end);
    end = at;
  }
  parts.emplace_back(0, end);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

JinjaValue Split(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments,
                 bool right) {
  const JinjaParameters given(run, "split", arguments, {"sep", "maxsplit"}, 0);
  const TracedText separator = given.set(0) ? given.Text(0, "") : TracedText();
  const int64_t most = given.Integer(1, -1);
  if (given.set(0) && separator.empty()) return run.Fail("empty separator");
  if (run.failed()) return {};
  const TracedText& text = self.string();
  run.Work(text.size());
  std::vector<Part> parts;
  if (given.set(0)) {
    parts = right ? RsplitAt(text.text(), separator.text(), most)
                  : SplitAt(text.text(), separator.text(), most);
  } else {
    parts = right ? RsplitAtSpace(text.text(), most) : SplitAtSpace(text.text(), most);
  }
  std::vector<JinjaValue> items;
  items.reserve(parts.size());
  for (const auto& [begin, end] : parts) {
    items.push_back(run.MakeString(text.Slice(begin, end)));
    if (run.failed()) return {};
  }
  return run.MakeList(std::move(items));
}

}  // namespace

JinjaValue CallSplit(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return Split(run, self, arguments, false);
}

JinjaValue CallRsplit(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  return Split(run, self, arguments, true);
}

JinjaValue CallSplitlines(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "splitlines", arguments, {"keepends"}, 0);
  std::vector<JinjaValue> lines;
  for (TracedText& line : SplitLines(self.string(), given.Truth(0, false))) {
    lines.push_back(run.MakeString(std::move(line)));
  }
  return run.MakeList(std::move(lines));
}

std::vector<TracedText> SplitLines(const TracedText& text, bool keep_ends) {
  std::vector<TracedText> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t character = NextCharacter(text.text(), at);
    if (!IsLineEnd(character)) continue;
    if (character == '\r' && at < text.size() && text.text()[at] == '\n') ++at;
    lines.push_back(text.Slice(begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.Slice(begin, text.size()));
  return lines;
}

TracedText StripText(const TracedText& text, bool left, bool right,
                     const std::string_view* stripped) {
  const size_t end = right ? SkipRight(text.text(), stripped) : text.size();
  const size_t begin = left ? SkipLeft(std::string_view(text.text()).substr(0, end), stripped) : 0;
  return text.Slice(begin, end);
}

TracedText ReplaceText(JinjaRun& run, const TracedText& text, const TracedText& from,
                       const TracedText& to, int64_t count) {
  const std::string& bytes = text.text();
  run.Work(bytes.size());
  JinjaTextBuilder out(run);
  size_t at = 0;
  size_t copied = 0;
  for (int64_t done = 0; (count < 0 || done < count) && !run.failed(); ++done) {
    size_t found = at;
    if (!from.empty()) {
      found = bytes.find(from.text(), at);
      if (found == std::string::npos) break;
    } else if (done > 0) {
      // Between every two characters, and at both ends.
      if (at >= bytes.size()) break;
      NextCharacter(bytes, found);
    }
    out.AppendPart(text, copied, found);
    out.Append(to);
    copied = found + from.size();
    at = copied;
  }
  if (copied < bytes.size()) out.AppendPart(text, copied, bytes.size());
  return out.Finish();
}

TracedText PadText(JinjaRun& run, const TracedText& text, int64_t width, char side,
                   const TracedText& fill) {
  const auto size = static_cast<int64_t>(CountCharacters(text.text()));
  if (width <= size) return text;
  const int64_t missing = width - size;
  if (missing > static_cast<int64_t>(run.max_text_bytes())) {
    run.Exhaust(StrCat("a text is padded to ", width, " characters"));
    return {};
  }
  int64_t left = missing / 2;
  if (side == '>') left = missing;
  if (side == '<') left = 0;
  if (side == '^') left += missing & width & 1;
  JinjaTextBuilder out(run);
  for (int64_t i = 0; i < left; ++i) out.Append(fill);
  out.Append(text);
  for (int64_t i = left; i < missing; ++i) out.Append(fill);
  return out.Finish();
}

}  // namespace horizon
