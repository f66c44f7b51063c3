#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace horizon {

// The printable characters that byte-level vocabularies write for bytes: those of Latin-1 that can
// be seen stand for themselves, the other 68 are U+0100 and following in order (GPT-2's table; a
// space is U+0120).
class ByteAlphabet {
 public:
  ByteAlphabet();
  char32_t CharacterOf(unsigned char byte) const { return characters_[byte]; }
  // Nothing for characters that stand for no byte.
  std::optional<unsigned char> ByteOf(char32_t character) const;
  // Appends `bytes` as characters, in UTF-8.
  void Spell(std::string_view bytes, std::string& text) const;
  // The bytes that `token` (UTF-8) spells; nothing if a character of it stands for none.
  std::optional<std::string> Read(std::string_view token) const;

 private:
  static constexpr size_t kLimit = 0x144;  // the last character is U+0143
  std::array<char32_t, 256> characters_;
  std::array<int, kLimit> bytes_;  // -1: stands for none
};

}  // namespace horizon
