#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace horizon {

// A small double-buffered pipeline that streams items through a device as the executor does. Each
// item is copied from one of two host buffers to one of two device slots, doubled into one of two
// result slots, and copied back, on three streams that are ordered by events alone. The host
// refills a buffer as soon as it has been copied, and reads all results at the end.

// One wait of the pipeline to leave out, so that a test can show that a device reveals the missing
// wait by wrong results.
enum class OmittedWait {
  kNothing,
  kLoaded,      // compute does not wait for its slot to be loaded
  kSlotFree,    // load does not wait until compute has read the slot
  kComputed,    // store does not wait until the result is computed
  kResultFree,  // compute does not wait until the result slot has been stored
  kSourceFree,  // the host overwrites a source while it may still be copied
  kStored,      // the host reads a result before it may have arrived
};

inline constexpr int kPipelineItems = 7;

// Makes a kernel that doubles 32-bit words of device memory, target[i] = 2 * source[i]. Both may be
// the same array.
using DoubleWords =
    std::function<KernelCall(std::byte* target, const std::byte* source, uint64_t words)>;
// The DoubleWords of devices whose kernels run on the host.
KernelCall DoubleWordsOnHost(std::byte* target, const std::byte* source, uint64_t words);

// Runs the pipeline and returns the result of each item. With OmittedWait::kNothing, item i is
// PipelineResult(i). An item whose words differ from each other, because it was overwritten on the
// way, is 0. Returns the first error of any device call. When it returns, all device memory is free
// and no work is pending.
absl::StatusOr<std::vector<uint32_t>> RunPipeline(
    Device& device, OmittedWait omitted, const DoubleWords& double_words = DoubleWordsOnHost);
uint32_t PipelineResult(int item);

}  // namespace horizon
