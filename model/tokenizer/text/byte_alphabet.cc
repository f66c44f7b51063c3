#include "model/tokenizer/text/byte_alphabet.h"

#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

bool CanBeSeen(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

}  // namespace

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = CanBeSeen(byte) ? static_cast<char32_t>(byte) : next++;
    characters_[static_cast<size_t>(byte)] = character;
    bytes_[character] = byte;
  }
}

std::optional<unsigned char> ByteAlphabet::ByteOf(char32_t character) const {
  if (character >= kLimit || bytes_[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(bytes_[character]);
}

void ByteAlphabet::Spell(std::string_view bytes, std::string& text) const {
  for (const char byte : bytes) {
    AppendCharacter(CharacterOf(static_cast<unsigned char>(byte)), text);
  }
}

std::optional<std::string> ByteAlphabet::Read(std::string_view token) const {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const std::optional<unsigned char> byte = ByteOf(NextCharacter(token, at));
    if (!byte.has_value()) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

}  // namespace horizon
