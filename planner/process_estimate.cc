#include "planner/process_estimate.h"

namespace horizon {
namespace {

// Packing buffers of the BLAS library and stacks, for each compute thread.
constexpr Bytes kLibraryBytes = 16_MiB;
constexpr Bytes kLibraryBytesPerThread = 8_MiB;
// A checkpoint being written or read: one piece of the state, and the disk's cache of what was just
// written (runtime/checkpoint/).
constexpr Bytes kSavingBytes = 16_MiB;
// What CUDA and its libraries keep in a process (a guess).
constexpr Bytes kCudaBytes = 1_GiB;

}  // namespace

Bytes ProcessBytesOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device) {
  return now.resident() + kLibraryBytes + kSavingBytes +
         kLibraryBytesPerThread * static_cast<uint64_t>(plan.compute_threads) +
         (device == DeviceKind::kCuda ? kCudaBytes : 0_B);
}

}  // namespace horizon
