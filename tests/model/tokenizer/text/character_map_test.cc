// Tables made by hand; goldens/unigram_t5 has one of SentencePiece's making.
#include "model/tokenizer/text/character_map.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace horizon {
namespace {

constexpr uint32_t kLeaf = 1U << 8;

// A unit that leads on by `offset` from where it stands.
constexpr uint32_t Unit(unsigned char label, uint32_t offset, uint32_t leaf = 0) {
  return label | leaf | (offset << 10);
}

absl::StatusOr<CharacterMap> Make(const std::vector<uint32_t>& units,
                                  const std::string& replacements) {
  std::string bytes;
  const auto write = [&](uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  };
  write(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) write(unit);
  return CharacterMap::Parse(absl::Base64Escape(bytes + replacements));
}

// "a" is written "xy", "bc" is dropped: the root at 0 leads to 256, "a" is at 256 ^ 'a', ...
std::vector<uint32_t> SmallTrie() {
  std::vector<uint32_t> units(1024);
  units[0] = Unit(0, 256);
  units[256 ^ 'a'] = Unit('a', (256 ^ 'a') ^ 600, kLeaf);
  units[600] = 0;  // its replacement begins at 0
  units[256 ^ 'b'] = Unit('b', (256 ^ 'b') ^ 512);
  units[512 ^ 'c'] = Unit('c', (512 ^ 'c') ^ 601, kLeaf);
  units[601] = 2;  // at the zero byte behind "xy"
  return units;
}

TEST(CharacterMap, FindsTheReplacementOfTheShortestBeginning) {
  const absl::StatusOr<CharacterMap> map = Make(SmallTrie(), std::string("xy\0", 3));
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->Find("a"), "xy");
  EXPECT_EQ(map->Find("abc"), "xy");
  EXPECT_EQ(map->Find("bc"), "");
  EXPECT_EQ(map->Find("b"), std::nullopt);
  EXPECT_EQ(map->Find("ba"), std::nullopt);
  EXPECT_EQ(map->Find("c"), std::nullopt);
  EXPECT_EQ(map->Find(""), std::nullopt);
  EXPECT_EQ(map->Find(std::string_view("\0", 1)), std::nullopt);
}

TEST(CharacterMap, ReadsTriesThatPointAnywhereWithoutHarm) {
  // Beyond the units: from the root, behind a character, and at a leaf.
  for (const size_t place : std::array<size_t, 3>{0, 256 ^ 'b', 256 ^ 'a'}) {
    std::vector<uint32_t> units = SmallTrie();
    units[place] |= 0x7FFFFC00U;
    const absl::StatusOr<CharacterMap> map = Make(units, "xy");
    ASSERT_TRUE(map.ok());
    EXPECT_EQ(map->Find(place == 0 || place == (256 ^ 'a') ? "a" : "bc"), std::nullopt);
  }
  // A replacement beyond the end, at the end, and inside a character.
  std::vector<uint32_t> units = SmallTrie();
  units[600] = 5;
  EXPECT_EQ(Make(units, "xyzd")->Find("a"), std::nullopt);
  EXPECT_EQ(Make(units, "xyzde")->Find("a"), "");
  EXPECT_EQ(Make(units, "xyzd\u00e9")->Find("a"), std::nullopt);
  EXPECT_EQ(Make(units, "xyzdefg")->Find("a"), "fg");
}

TEST(CharacterMap, RefusesWhatIsNoTable) {
  EXPECT_FALSE(Make({}, "x").ok());
  EXPECT_FALSE(Make({1}, "\xFF").ok());
  EXPECT_FALSE(CharacterMap::Parse("").ok());
  EXPECT_FALSE(CharacterMap::Parse("*").ok());
  // The size of the trie is beyond the end, or no multiple of four.
  EXPECT_FALSE(CharacterMap::Parse(absl::Base64Escape(std::string("\x08\0\0\0abcd", 8))).ok());
  EXPECT_FALSE(CharacterMap::Parse(absl::Base64Escape(std::string("\x03\0\0\0abcd", 8))).ok());
  EXPECT_TRUE(CharacterMap::Parse(absl::Base64Escape(std::string("\x04\0\0\0abcd", 8))).ok());
}

}  // namespace
}  // namespace horizon
