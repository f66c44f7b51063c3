#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace horizon {

// Streaming in the small, as the executor does it: items are loaded from two host buffers into two
// device slots, doubled into two result slots and stored, on three streams that know of each other
// by events alone. The host fills a source again as soon as it was loaded and reads all results at
// the end.

// A wait of the chain left out, to show that a device would let it be seen.
enum class Forgotten {
  kNothing,
  kLoaded,      // compute does not wait for its slot to be loaded
  kSlotFree,    // load does not wait for the slot's last reader
  kComputed,    // store does not wait for its result
  kResultFree,  // compute does not wait for the result's last reader
  kSourceFree,  // the host overwrites a source while it may still be copied
  kStored,      // the host reads a target before it is filled
};

inline constexpr int kChainItems = 7;

// What arrives, item by item; without Forgotten, ChainResult(i). The first error of any call. All
// memory is free again, and no work pending, when it returns.
absl::StatusOr<std::vector<uint32_t>> RunChain(Device& device, Forgotten forgotten);
uint32_t ChainResult(int item);

}  // namespace horizon
