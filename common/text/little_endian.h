#pragma once

#include <concepts>
#include <cstddef>
#include <string>

namespace horizon {

// Returns the bytes of `number` in little-endian order (the lowest byte first), on every machine.
template <std::unsigned_integral T>
std::string LittleEndian(T number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  return bytes;
}

}  // namespace horizon
