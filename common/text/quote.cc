#include "common/text/quote.h"

#include <cstddef>

#include "absl/strings/escaping.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr size_t kShown = 60;

bool IsUtf8Continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string Quoted(std::string_view text) {
  if (text.size() <= kShown)
    return StrCat("\"", absl::Utf8SafeCEscape({text.data(), text.size()}), "\"");
  // At most three steps back reach the start of a UTF-8 sequence; junk is cut where it stands.
  size_t end = kShown;
  while (end > kShown - 3 && IsUtf8Continuation(text[end])) --end;
  return StrCat("\"", absl::Utf8SafeCEscape({text.data(), end}), "...\"");
}

}  // namespace horizon
