#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/text/byte_hash.h"

namespace horizon {

// Caches the ids of words, because most texts repeat a small number of words. It is a fixed table
// of 4 MiB: a new word replaces the old word in its slot. One thread at a time.
class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 26;  // makes an entry exactly one cache line
  static constexpr size_t kMaxIds = 7;

  WordCache() : entries_(kEntries) {}

  // The ids of a word, or an empty span if it is not cached (every cached word has ids). Valid
  // until the next Put.
  std::span<const int32_t> Find(std::string_view word) const {
    const Entry& entry = entries_[SlotOf(word)];
    if (entry.count == 0 || entry.size != word.size() ||
        std::memcmp(entry.word.data(), word.data(), word.size()) != 0) {
      return {};
    }
    return {entry.ids.data(), entry.count};
  }

  // Caches a word that is not empty, if it has at most kMaxWordBytes bytes and 1 to kMaxIds ids.
  void Put(std::string_view word, std::span<const int32_t> ids) {
    if (word.size() > kMaxWordBytes || ids.empty() || ids.size() > kMaxIds) return;
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
    std::array<char, kMaxWordBytes> word = {};
    std::array<int32_t, kMaxIds> ids = {};
  };
  static_assert(sizeof(Entry) == 64);

  static size_t SlotOf(std::string_view word) { return HashBytes(word) % kEntries; }

  std::vector<Entry> entries_;
};

}  // namespace horizon
