#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// SentencePiece's table of characters and their replacements ("precompiled_charsmap" of a
// tokenizer.json). The format is the size of a trie in bytes (4 bytes, little endian), the trie as
// a double array of 32-bit units (darts-clone), and the replacements, each followed by a zero byte.
// Immutable.
class CharacterMap {
 public:
  // Parses the table from base64. Returns InvalidArgument if it is not base64, is truncated, or has
  // replacements that are not UTF-8. A corrupt trie with wild offsets is read safely.
  static absl::StatusOr<CharacterMap> Parse(std::string_view base64);

  // The replacement of the whole of `chunk`. Like the Hugging Face library, it takes the
  // replacement of the shortest prefix of `chunk` that is in the table. Returns nothing if there is
  // none.
  std::optional<std::string_view> Find(std::string_view chunk) const;

 private:
  CharacterMap() = default;
  std::optional<uint32_t> FirstValue(std::string_view chunk) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace horizon
