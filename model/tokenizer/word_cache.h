#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/text/byte_hash.h"

namespace horizon {

// The ids of words met before: most words of a text are few words again and again. A fixed table in
// which a new word takes the place of an old one of the same slot; 4 MiB, for one thread at a time.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 26;  // bytes; with the rest an entry is a cache line
  static constexpr size_t kMostIds = 7;

  WordCache() : entries_(kEntries) {}

  // The ids of a word, or none if it is not here (no word has none). Valid until Put.
  std::span<const int32_t> Find(std::string_view word) const {
    const Entry& entry = entries_[SlotOf(word)];
    if (entry.count == 0 || entry.size != word.size() ||
        std::memcmp(entry.word.data(), word.data(), word.size()) != 0) {
      return {};
    }
    return {entry.ids.data(), entry.count};
  }

  // Keeps a word if it fits: not empty, at most kLongestWord bytes and 1 to kMostIds ids.
  void Put(std::string_view word, std::span<const int32_t> ids) {
    if (word.size() > kLongestWord || ids.empty() || ids.size() > kMostIds) return;
    Entry& entry = entries_[SlotOf(word)];
    entry.size = static_cast<uint8_t>(word.size());
    entry.count = static_cast<uint8_t>(ids.size());
    std::memcpy(entry.word.data(), word.data(), word.size());
    std::memcpy(entry.ids.data(), ids.data(), ids.size_bytes());
  }

 private:
  static constexpr size_t kEntries = 1 << 16;
  struct alignas(64) Entry {
    uint8_t size = 0;
    uint8_t count = 0;  // 0: empty
    std::array<char, kLongestWord> word = {};
    std::array<int32_t, kMostIds> ids = {};
  };
  static_assert(sizeof(Entry) == 64);

  static size_t SlotOf(std::string_view word) { return HashBytes(word) % kEntries; }

  std::vector<Entry> entries_;
};

}  // namespace horizon
