#include "model/tokenizer/text/character_map.h"

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

constexpr size_t kUnitBytes = 4;

uint32_t ReadUnit(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < kUnitBytes; ++i) {
    value |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

// The fields of a unit (darts-clone, include/darts.h, DoubleArrayUnit).
bool HasLeaf(uint32_t unit) { return ((unit >> 8) & 1) == 1; }
uint32_t Value(uint32_t unit) { return unit & ((uint32_t{1} << 31) - 1); }
uint32_t Label(uint32_t unit) { return unit & ((uint32_t{1} << 31) | 0xFF); }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (uint32_t{1} << 9)) >> 6); }

}  // namespace

absl::StatusOr<CharacterMap> CharacterMap::Parse(std::string_view base64) {
  std::string bytes;
  if (!absl::Base64Unescape(absl::string_view(base64.data(), base64.size()), &bytes)) {
    return absl::InvalidArgumentError("precompiled_charsmap is not base64");
  }
  std::string_view rest = bytes;
  if (rest.size() < kUnitBytes) {
    return absl::InvalidArgumentError("precompiled_charsmap is cut off");
  }
  const size_t trie_bytes = ReadUnit(rest);
  rest.remove_prefix(kUnitBytes);
  if (trie_bytes > rest.size() || trie_bytes % kUnitBytes != 0 || trie_bytes == 0) {
    return absl::InvalidArgumentError(StrCat("precompiled_charsmap has a trie of ", trie_bytes,
                                             " bytes, with ", rest.size(), " bytes to come"));
  }
  CharacterMap map;
  map.units_.reserve(trie_bytes / kUnitBytes);
  for (size_t at = 0; at < trie_bytes; at += kUnitBytes) {
    map.units_.push_back(ReadUnit(rest.substr(at)));
  }
  map.replacements_ = rest.substr(trie_bytes);
  std::string storage;
  if (WithValidUtf8(map.replacements_, storage).data() != map.replacements_.data()) {
    return absl::InvalidArgumentError("the replacements of precompiled_charsmap are not UTF-8");
  }
  return map;
}

std::optional<uint32_t> CharacterMap::FirstValue(std::string_view chunk) const {
  size_t place = Offset(units_[0]);
  for (const char c : chunk) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    place ^= byte;
    if (place >= units_.size()) return std::nullopt;
    const uint32_t unit = units_[place];
    if (Label(unit) != byte) return std::nullopt;
    place ^= Offset(unit);
    if (HasLeaf(unit)) {
      if (place >= units_.size()) return std::nullopt;
      return Value(units_[place]);
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> CharacterMap::Find(std::string_view chunk) const {
  const std::optional<uint32_t> begin = FirstValue(chunk);
  if (!begin.has_value() || *begin > replacements_.size()) return std::nullopt;
  const std::string_view rest = std::string_view(replacements_).substr(*begin);
  // A replacement that begins inside a character is none.
  if (!rest.empty() && (static_cast<unsigned char>(rest[0]) & 0xC0U) == 0x80U) return std::nullopt;
  return rest.substr(0, rest.find('\0'));
}

}  // namespace horizon
