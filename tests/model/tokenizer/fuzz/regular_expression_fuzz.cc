// Whatever the expression, it is translated and compiled or refused; and one that compiles finds
// whole characters of a text, in order, or gives up.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/check.h"
#include "model/tokenizer/text/regular_expression.h"
#include "model/tokenizer/text/translate_expression.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr std::array<std::string_view, 3> kTexts = {
    "", "I'll say 1234,\tfoo_bar\r\n\n  caf\xC3\xA9", "\xF0\x9F\x91\x8D\xE4\xB8\xAD a\xCC\x81 x!"};
// An expression that only just does not give up takes a second for each.
constexpr int kMostMatches = 6;

bool IsBetweenCharacters(std::string_view text, size_t place) {
  return place == text.size() || (static_cast<unsigned char>(text[place]) & 0xC0) != 0x80;
}

void TryText(const RegularExpression& expression, std::string_view text, MatchMemory& memory) {
  size_t from = 0;
  for (int i = 0; i < kMostMatches && from <= text.size(); ++i) {
    const absl::StatusOr<std::optional<RegularExpression::Match>> found =
        expression.Find(text, from, memory);
    CHECK(found.ok() || absl::IsResourceExhausted(found.status()));
    if (!found.ok() || !found->has_value()) return;
    const RegularExpression::Match match = **found;
    CHECK(match.begin >= from && match.begin <= match.end && match.end <= text.size());
    CHECK(IsBetweenCharacters(text, match.begin) && IsBetweenCharacters(text, match.end));
    from = match.end;
    if (match.begin != match.end) continue;
    do {
      ++from;
    } while (from < text.size() && !IsBetweenCharacters(text, from));
  }
}

void TryExpression(std::string_view text) {
  const absl::StatusOr<std::string> translated = TranslateExpression(text);
  CHECK(translated.ok() || absl::IsInvalidArgument(translated.status()));
  const absl::StatusOr<RegularExpression> expression = RegularExpression::Compile(text);
  if (!expression.ok()) {
    CHECK(absl::IsInvalidArgument(expression.status()));
    CHECK(!expression.status().message().empty() && expression.status().message().size() < 2000);
    return;
  }
  CHECK(translated.ok());
  MatchMemory memory;
  for (const std::string_view one : kTexts) TryText(*expression, one, memory);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryExpression({reinterpret_cast<const char*>(data), size});
  return 0;
}
