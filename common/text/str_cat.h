#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace horizon {

// Appends one piece of StrCat to `text`: a string of any kind (including std::string_view, which
// the system's Abseil does not accept, and absl::string_view), a character, an integer in decimal,
// or a real number as the shortest text that reads back to the same value. A bool does not compile,
// since it has no obvious text.
template <typename T>
void AppendPiece(std::string& text, const T& piece) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    text.append(std::string_view(piece));
  } else if constexpr (std::is_same_v<T, char>) {
    text.push_back(piece);
  } else if constexpr (std::is_arithmetic_v<T>) {
    static_assert(!std::is_same_v<T, bool>, "write the word that is meant");
    char digits[64];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), piece);
    text.append(digits, end.ptr);
  } else {
    text.append(piece.data(), piece.size());
  }
}

// Concatenates its arguments: StrCat("layer ", 3, " of ", name). Pure; it allocates only the
// result.
template <typename... T>
std::string StrCat(const T&... pieces) {
  std::string text;
  (AppendPiece(text, pieces), ...);
  return text;
}

}  // namespace horizon
