#include "tests/common/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace horizon {
namespace {

constexpr size_t kLongest = 1 << 16;

constexpr std::array<std::string_view, 40> kTokens = {"[",
                                                      "]",
                                                      "{",
                                                      "}",
                                                      "[[[[[[[[",
                                                      "{\"a\":",
                                                      ",",
                                                      ":",
                                                      "\"",
                                                      "\\",
                                                      "\n",
                                                      " ",
                                                      "\t",
                                                      "-",
                                                      "- ",
                                                      "? ",
                                                      "0",
                                                      "-1",
                                                      "1e400",
                                                      "1e-400",
                                                      "0.1",
                                                      "-0",
                                                      "nul",
                                                      "true",
                                                      "\\u00",
                                                      "\\ud800",
                                                      "\xFF",
                                                      "\xC0\x80",
                                                      "\xEF\xBB\xBF",
                                                      "&a ",
                                                      "*a",
                                                      "!!str ",
                                                      "---\n",
                                                      "...\n",
                                                      "#",
                                                      "|\n ",
                                                      "18446744073709551616",
                                                      "9223372036854775807",
                                                      "4294967296",
                                                      "99999999999999999999999999"};

// splitmix64 (Steele, Lea, Flood 2014): the standard library's distributions differ between
// systems.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // 0 .. bound - 1; 0 for a bound of 0.
  size_t Below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(Next() % bound); }

 private:
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  uint64_t state_;
};

std::string_view AnyPiece(std::string_view text, Random& random) {
  const size_t begin = random.Below(text.size() + 1);
  return text.substr(begin, random.Below(text.size() - begin + 1));
}

void ChangeByte(std::string& text, Random& random) {
  if (text.empty()) return;
  char& byte = text[random.Below(text.size())];
  if (random.Below(2) == 0) {
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << random.Below(8)));
  } else {
    byte = static_cast<char>(random.Below(256));
  }
}

void Mutate(std::string& text, const std::vector<std::string>& corpus, Random& random) {
  switch (random.Below(6)) {
    case 0:
    case 1:
      ChangeByte(text, random);
      break;
    case 2: {
      const size_t begin = random.Below(text.size() + 1);
      text.erase(begin, 1 + random.Below(random.Below(text.size() + 1) + 1));
      break;
    }
    case 3:
      text.insert(random.Below(text.size() + 1), kTokens[random.Below(kTokens.size())]);
      break;
    case 4: {
      const std::string piece(AnyPiece(text, random));
      const size_t at = random.Below(text.size() + 1);
      for (size_t times = 1 + random.Below(4); times > 0; --times) text.insert(at, piece);
      break;
    }
    default: {
      const std::string_view piece = AnyPiece(corpus[random.Below(corpus.size())], random);
      text.insert(random.Below(text.size() + 1), piece);
      break;
    }
  }
  text.resize(std::min(text.size(), kLongest));
}

}  // namespace

std::string Mutated(const std::vector<std::string>& corpus, uint64_t number) {
  Random random(number);
  std::string text = corpus[random.Below(corpus.size())];
  for (size_t changes = 1 + random.Below(8); changes > 0; --changes) Mutate(text, corpus, random);
  return text;
}

}  // namespace horizon
