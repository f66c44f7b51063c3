#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace horizon {

// A well mixed hash of some bytes, the same in every process. Use it for keys that an adversary can
// choose only if a collision merely costs time or is checked for.
inline uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0) {
  constexpr uint64_t kMultiplier = 0x9FB21C651E98DF25ULL;
  const auto mix = [](uint64_t x) {
    x *= kMultiplier;
    return x ^ (x >> 32);
  };
  uint64_t hash = mix(seed ^ (bytes.size() * 0xD6E8FEB86659FD93ULL));
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    hash = mix(hash ^ word);
  }
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, bytes.size() - at);
  return mix(mix(hash ^ word));
}

}  // namespace horizon
