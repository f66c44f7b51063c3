#pragma once

#include <cstdint>
#include <string_view>

namespace horizon {

// The key of a tensor, or of one of its parts (TensorSlice::part), for counter-based random
// generators. It depends on the seed, the tensor's name and the part, not on where the tensor is
// stored. FNV-1a, then a mix so that close seeds and parts give distant keys.
inline uint64_t TensorKey(uint64_t seed, std::string_view name, int64_t part = 0) {
  uint64_t key = 0xcbf29ce484222325;
  for (const char letter : name) {
    key = (key ^ static_cast<uint8_t>(letter)) * 0x100000001b3;
  }
  key ^= seed * 0x9e3779b97f4a7c15;
  key += static_cast<uint64_t>(part) * 0xd1342543de82ef95;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
  key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  return key ^ (key >> 31);
}

}  // namespace horizon
