#include "presentation/escape_xml.h"

#include <cstddef>

#include "common/text/utf8.h"

namespace horizon {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What one UTF-8 sequence becomes.
std::string_view Escaped(std::string_view sequence) {
  switch (sequence.front()) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\t':
    case '\n':
    case '\r':
      return sequence;
    default:
      break;
  }
  const bool is_control = static_cast<unsigned char>(sequence.front()) < 0x20;
  const bool is_noncharacter = sequence == "\xEF\xBF\xBE" || sequence == "\xEF\xBF\xBF";
  return is_control || is_noncharacter ? kReplacement : sequence;
}

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    escaped += length == 0 ? kReplacement : Escaped(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

}  // namespace horizon
