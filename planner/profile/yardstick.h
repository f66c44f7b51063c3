#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/units.h"

namespace horizon {

// How fast the machine is at this moment. A processor that is shared with others, or that changes
// its clock, is quicker or slower by tens of percent from one second to the next; all it computes
// alike. So work is measured against fixed work done just before and just after it, and a profile
// says how fast that fixed work was: whoever uses the profile later looks how fast it is then
// (machine_speed.h).
class Yardstick {
 public:
  // What one run of each does.
  static constexpr double kFlops = 2.0 * 512 * 512 * 512;  // a product held in caches
  // Values added to others, in memory that no cache holds if it has kMemoryBytes.
  static constexpr Bytes kMemoryBytes = 96_MiB;

  // Works on the threads of `context`, which outlives it, in `memory_bytes` (at least 8 MiB) and
  // 3 MiB of its own. ResourceExhausted without memory.
  static absl::StatusOr<Yardstick> Create(Clock& clock, const KernelContext& context,
                                          Bytes memory_bytes = kMemoryBytes);
  // The same in memory that is there already and outlives it; what it holds is lost. With less than
  // 8 MiB only Products can be asked for.
  static absl::StatusOr<Yardstick> CreateIn(Clock& clock, const KernelContext& context,
                                            std::span<std::byte> borrowed);

  // Runs the fixed work once, in one to three milliseconds; the seconds it took.
  absl::StatusOr<double> Products();
  absl::StatusOr<double> Memory();
  double bytes() const { return 12.0 * static_cast<double>(values_); }  // moved by Memory

 private:
  Yardstick(Clock& clock, const KernelContext& context, HostMemory matrices, HostMemory owned,
            std::span<std::byte> streamed);

  Clock* clock_;
  const KernelContext* context_;
  HostMemory matrices_;
  HostMemory owned_;  // empty: `streamed_` is somebody else's
  std::span<std::byte> streamed_;
  int64_t values_;    // of a run
  int64_t next_ = 0;  // piece of the memory, so that a run finds it in no cache
};

}  // namespace horizon
