#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// SentencePiece's table of characters and what is written for them ("precompiled_charsmap"): the
// size of a trie in bytes (4 bytes, little endian), the trie as a double array of 32-bit units
// (darts-clone), and the replacements, each with a zero byte behind it. Never changed once made.
class CharacterMap {
 public:
  // From base64. InvalidArgument: no base64, cut off, replacements that are not UTF-8. A trie that
  // points anywhere is read without harm.
  static absl::StatusOr<CharacterMap> Parse(std::string_view base64);

  // What stands in place of `chunk`: the replacement of the shortest beginning of it that the table
  // has, for the whole of it, as the Hugging Face library does; nothing if there is none.
  std::optional<std::string_view> Find(std::string_view chunk) const;

 private:
  CharacterMap() = default;
  std::optional<uint32_t> FirstValue(std::string_view chunk) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace horizon
