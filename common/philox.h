#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace horizon {

// The project's random number generator: Philox4x32 with 10 rounds (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011, section 3.3). It is counter-based: each number is a pure
// function of a key and a counter, so any part of a sequence can be generated on any thread or
// device, in any order, with the same bits.
struct PhiloxKey {
  std::array<uint32_t, 2> words{};
};
using PhiloxBlock = std::array<uint32_t, 4>;

// Four independent uniform 32-bit numbers.
constexpr PhiloxBlock Philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key.words[0],
               static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key.words[1],
               static_cast<uint32_t>(first)};
    key.words[0] += 0x9E3779B9;
    key.words[1] += 0xBB67AE85;
  }
  return counter;
}

// Build a key and a counter from 64-bit parts.
constexpr PhiloxKey PhiloxKeyOf(uint64_t seed) {
  return {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
}
constexpr PhiloxBlock PhiloxCounterOf(uint64_t low, uint64_t high) {
  return {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
          static_cast<uint32_t>(high >> 32)};
}

// Hashes a name to one 64-bit half of a counter (FNV-1a), so that sequences with different names do
// not overlap.
constexpr uint64_t PhiloxStreamOf(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

}  // namespace horizon
