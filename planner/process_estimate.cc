#include "planner/process_estimate.h"

namespace horizon {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Packing buffers of the BLAS library and stacks, for each compute thread.
constexpr uint64_t kLibraryBytes = 16 * kMiB;
constexpr uint64_t kLibraryBytesPerThread = 8 * kMiB;
// A checkpoint being written or read: one piece of the state, and the disk's cache of what was just
// written (runtime/checkpoint/).
constexpr uint64_t kSavingBytes = 16 * kMiB;
// What CUDA and its libraries keep in a process (a guess).
constexpr uint64_t kCudaBytes = 1024 * kMiB;

}  // namespace

uint64_t ProcessBytesOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device) {
  return now.resident().value() + kLibraryBytes + kSavingBytes +
         kLibraryBytesPerThread * static_cast<uint64_t>(plan.compute_threads) +
         (device == DeviceKind::kCuda ? kCudaBytes : 0);
}

}  // namespace horizon
