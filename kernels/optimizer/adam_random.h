#pragma once

#include <cstdint>

#include "kernels/optimizer/adam.h"

namespace horizon {

// The random words of a run of parameters whose numbers have one upper half (z of adam.h); for the
// host body.
struct AdamSeed {
  uint32_t first;  // low(number) of the first parameter
  uint32_t low;    // low(z)
  uint32_t high;   // high(z)
};

inline uint64_t AdamMix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Of the run that begins `from` parameters after the call's first.
inline AdamSeed AdamSeedOf(const AdamUpdate& args, int64_t from) {
  const auto number = static_cast<uint64_t>(args.first + from);
  const uint64_t job = AdamMix(args.key + 0x9E3779B97F4A7C15);
  const uint64_t step = AdamMix(job ^ static_cast<uint64_t>(args.step));
  const uint64_t z = AdamMix(step ^ (number >> 32));
  return {static_cast<uint32_t>(number), static_cast<uint32_t>(z), static_cast<uint32_t>(z >> 32)};
}

}  // namespace horizon
