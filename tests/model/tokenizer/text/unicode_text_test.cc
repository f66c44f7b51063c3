#include "model/tokenizer/text/unicode_text.h"

#include <gtest/gtest.h>

#include <string>

#include "common/text/utf8.h"
#include "model/tokenizer/text/byte_alphabet.h"

namespace horizon {
namespace {

std::string Repaired(std::string_view text) {
  std::string storage;
  return std::string(WithValidUtf8(text, storage));
}

// Unicode 15, tables 3-8 to 3-11, and what Python's errors="replace" gives.
TEST(UnicodeText, ReplacesMaximalSubparts) {
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(Repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(Repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(Repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(Repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  EXPECT_EQ(Repaired("ab\xE4\xBD"), "ab" + r);
  EXPECT_EQ(Repaired("\xE4\xBD\xA0\xC3"), "\u4f60" + r);
}

TEST(UnicodeText, LeavesValidTextWhereItIs) {
  for (const std::string text :
       {"", "a", "0123456789abcdef0", "\u00e9", "abcdefg\u4f60\U0001F44D"}) {
    std::string storage;
    EXPECT_EQ(WithValidUtf8(text, storage).data(), text.data());
    EXPECT_EQ(storage, "");
  }
}

TEST(UnicodeText, FindsAnInvalidByteWhereverItStands) {
  for (size_t size = 1; size < 40; ++size) {
    for (size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      EXPECT_TRUE(IsAscii(text));
      text[at] = '\xFF';
      EXPECT_FALSE(IsAscii(text));
      EXPECT_EQ(Repaired(text), text.substr(0, at) + "\ufffd" + text.substr(at + 1));
    }
  }
}

TEST(UnicodeText, WritesAndReadsEveryCharacter) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    AppendCharacter(c, text);
    ASSERT_EQ(Utf8Length(text), text.size()) << static_cast<uint32_t>(c);
    size_t at = 0;
    ASSERT_EQ(NextCharacter(text, at), c);
    ASSERT_EQ(at, text.size());
  }
}

TEST(UnicodeText, KnowsCharacters) {
  for (const char32_t c : {U' ', U'\n', U'\v', U'\u0085', U'\u00a0', U'\u3000', U'\u2028'}) {
    EXPECT_TRUE(IsWhiteSpace(c)) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : {U'a', U'\u200b', U'\u180e', U'\ufeff', U'\x1c'}) {
    EXPECT_FALSE(IsWhiteSpace(c)) << static_cast<uint32_t>(c);
  }
  EXPECT_TRUE(IsWordCharacter('_') && IsWordCharacter(0x301) && IsWordCharacter(0x200D));
  EXPECT_FALSE(IsWordCharacter('-') || IsWordCharacter(0xBD) || IsWordCharacter(' '));
  EXPECT_TRUE(IsNumber('7') && IsNumber(0xBD) && IsNumber(0x2167));
  EXPECT_FALSE(IsNumber('a'));
  EXPECT_TRUE(IsPunctuation('$') && IsPunctuation('~') && IsPunctuation(0xAB));
  EXPECT_FALSE(IsPunctuation(0xA3) || IsPunctuation('a') || IsPunctuation(' '));
  EXPECT_TRUE(IsMark(0x301) && IsMark(0x903) && IsMark(0x20DD));
  EXPECT_FALSE(IsMark('a'));
}

TEST(ByteAlphabet, SpellsEveryByteAsACharacterOfItsOwn) {
  const ByteAlphabet alphabet;
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  std::string spelled;
  alphabet.Spell(all, spelled);
  EXPECT_EQ(alphabet.Read(spelled), all);
  EXPECT_EQ(alphabet.CharacterOf(' '), 0x120);
  EXPECT_EQ(alphabet.CharacterOf('\n'), 0x10A);
  EXPECT_EQ(alphabet.CharacterOf('!'), '!');
  EXPECT_EQ(alphabet.CharacterOf(0xAD), 0x143);
  EXPECT_EQ(alphabet.Read("a b"), std::nullopt);
  EXPECT_EQ(alphabet.Read("\u4f60"), std::nullopt);
  EXPECT_EQ(alphabet.Read("\u0144"), std::nullopt);
  EXPECT_EQ(alphabet.Read(""), "");
}

}  // namespace
}  // namespace horizon
