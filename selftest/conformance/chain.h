#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// A kernel that doubles words of device memory: target[i] = 2 * source[i], the same array perhaps.
using DoubleWords =
    std::function<KernelCall(std::byte* target, const std::byte* source, uint64_t words)>;
// For devices whose kernels run on the host.
KernelCall DoubleWordsOnHost(std::byte* target, const std::byte* source, uint64_t words);

// What arrives, item by item; without Forgotten, ChainResult(i). The first error of any call. All
// memory is free again, and no work pending, when it returns.
absl::StatusOr<std::vector<uint32_t>> RunChain(Device& device, Forgotten forgotten,
                                               const DoubleWords& double_words = DoubleWordsOnHost);
uint32_t ChainResult(int item);

}  // namespace horizon
