#include "model/compact_template.h"

#include <cstddef>

namespace horizon {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// Takes a literal off the front of `rest`, which begins with its quote.
void TakeLiteral(std::string_view& rest, std::string& out) {
  const char quote = rest[0];
  rest.remove_prefix(1);
  out += '\'';
  while (!rest.empty() && rest[0] != quote) {
    if (rest[0] == '\\' && rest.size() > 1) {
      out += rest.substr(0, 2);
      rest.remove_prefix(2);
    } else {
      if (rest[0] == '\n') {
        out += "\\n";
      } else if (rest[0] == '\'') {
        out += "\\'";
      } else {
        out += rest[0];
      }
      rest.remove_prefix(1);
    }
  }
  out += '\'';
  if (!rest.empty()) rest.remove_prefix(1);
}

// Takes "{{ ... }}" or "{% ... %}" off the front of `rest`.
void TakeStatement(std::string_view& rest, std::string& out) {
  const std::string_view end = rest[1] == '{' ? "}}" : "%}";
  out += rest.substr(0, 2);
  rest.remove_prefix(2);
  if (StartsWith(rest, "-")) rest.remove_prefix(1);
  while (!rest.empty() && !StartsWith(rest, end)) {
    if (rest[0] == '\'' || rest[0] == '"') {
      TakeLiteral(rest, out);
      continue;
    }
    const bool is_trim_sign = rest[0] == '-' && StartsWith(rest.substr(1), end);
    if (!is_trim_sign && !IsSpace(rest[0])) out += rest[0];
    rest.remove_prefix(1);
  }
  if (rest.empty()) return;
  out += end;
  rest.remove_prefix(end.size());
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t found = text.find(from, at);
    out += text.substr(at, found == std::string_view::npos ? found : found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

}  // namespace

std::string CompactTemplate(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (StartsWith(text, "{#")) {
      const size_t end = text.find("#}");
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else if (StartsWith(text, "{{") || StartsWith(text, "{%")) {
      TakeStatement(text, out);
    } else {
      out += text[0];
      text.remove_prefix(1);
    }
  }
  out = ReplaceAll(out, "message['content']", "content");
  out = ReplaceAll(out, "message.content", "content");
  return ReplaceAll(out, "message['role']", "message.role");
}

}  // namespace horizon
