#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace horizon {

// The printable characters that byte-level vocabularies use for bytes (the table of GPT-2). Visible
// characters of Latin-1 stand for themselves; the other 68 bytes are U+0100 and following, in
// order. A space is U+0120.
class ByteAlphabet {
 public:
  ByteAlphabet();
  char32_t CharacterOf(unsigned char byte) const { return characters_[byte]; }
  // Returns nothing for a character that stands for no byte.
  std::optional<unsigned char> ByteOf(char32_t character) const;
  // Appends `bytes` as characters of the alphabet, in UTF-8.
  void Spell(std::string_view bytes, std::string& text) const;
  // The bytes that `token` (UTF-8) spells; nothing if one of its characters stands for no byte.
  std::optional<std::string> Read(std::string_view token) const;

 private:
  static constexpr size_t kLimit = 0x144;  // the last character is U+0143
  std::array<char32_t, 256> characters_;
  std::array<int, kLimit> bytes_;  // -1: the character stands for no byte
};

}  // namespace horizon
