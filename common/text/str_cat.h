#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace horizon {

// Appends one piece: text of any kind (std::string_view, which the system's Abseil does not know,
// and absl::string_view), a character, an integer in decimal, or a real number as the shortest text
// that reads back to the same value. A bool has no obvious text and is refused.
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

// StrCat("layer ", 3, " of ", name): the pieces one after another. Pure, allocates the result only.
template <typename... T>
std::string StrCat(const T&... pieces) {
  std::string text;
  (AppendPiece(text, pieces), ...);
  return text;
}

}  // namespace horizon
