#include "planner/machines/machine_names.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace horizon {
namespace {

using Words = std::vector<std::string>;

bool IsDigit(char letter) { return absl::ascii_isdigit(static_cast<unsigned char>(letter)); }
bool IsLetter(char letter) { return absl::ascii_isalpha(static_cast<unsigned char>(letter)); }

// The letters and digits of `text` in lower case, cut where another kind of letter begins. A single
// letter belongs to the number before it: "l40s-48gb" is l, 40s, 48 and gb.
Words WordsOf(std::string_view text) {
  Words words;
  size_t i = 0;
  const auto take = [&](auto belongs) {
    const size_t begin = i;
    while (i < text.size() && belongs(text[i])) ++i;
    return absl::AsciiStrToLower({text.data() + begin, i - begin});
  };
  while (i < text.size()) {
    if (IsDigit(text[i])) {
      std::string number = take(IsDigit);
      const bool one_letter =
          i < text.size() && IsLetter(text[i]) && (i + 1 == text.size() || !IsLetter(text[i + 1]));
      if (one_letter) number += absl::ascii_tolower(static_cast<unsigned char>(text[i++]));
      words.push_back(std::move(number));
    } else if (IsLetter(text[i])) {
      words.push_back(take(IsLetter));
    } else {
      ++i;
    }
  }
  return words;
}

bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Makers, brands and form factors, which people leave out.
bool MayBeLeftOut(const std::string& word) {
  static constexpr std::string_view kWords[] = {"amd",    "apple",  "dgx", "geforce", "instinct",
                                                "intel",  "nvidia", "nvl", "oam",     "pcie",
                                                "radeon", "rtx",    "sxm", "tesla"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

// Whether words[i] and words[i + 1] are an amount of memory: "80 gb".
bool IsMemory(const Words& words, size_t i) {
  return i + 1 < words.size() && std::all_of(words[i].begin(), words[i].end(), IsDigit) &&
         (words[i + 1] == "gb" || words[i + 1] == "gib");
}

bool HasMemory(const NamedMachine& machine, const std::string& gigabytes) {
  int64_t wanted = 0;
  if (!absl::SimpleAtoi(gigabytes, &wanted)) return false;
  return std::llround(machine.memory_bytes / 1e9) == wanted ||
         std::llround(machine.memory_bytes / 0x1p30) == wanted;
}

bool IsCalled(const NamedMachine& machine, const Words& typed) {
  const Words name = WordsOf(machine.name);
  const Words device = WordsOf(machine.device);
  for (size_t i = 0; i < typed.size(); ++i) {
    if (IsMemory(typed, i) && HasMemory(machine, typed[i])) {
      ++i;  // the unit
    } else if (!Has(name, typed[i]) && !Has(device, typed[i])) {
      return false;
    }
  }
  for (size_t i = 0; i < name.size(); ++i) {
    if (IsMemory(name, i)) {
      ++i;
    } else if (!Has(typed, name[i]) && !MayBeLeftOut(name[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> MachinesCalled(std::string_view typed,
                                        std::span<const NamedMachine> machines) {
  constexpr size_t kLongest = 100;  // longer text is not a name
  std::vector<std::string> called;
  if (typed.size() > kLongest) return called;
  const Words words = WordsOf(typed);
  for (const NamedMachine& machine : machines) {
    if (!words.empty() && IsCalled(machine, words)) called.push_back(machine.name);
  }
  return called;
}

}  // namespace horizon
