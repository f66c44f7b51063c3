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

// A yardstick is fixed work that shows how fast the machine is at this moment. A processor that is
// shared with other programs, or that changes its clock, becomes faster or slower by tens of
// percent from one second to the next, and all work on it alike. So other work is timed against a
// yardstick that runs just before and just after it (MeasuringTime::MeasureAgainst). A profile
// stores how fast the yardsticks were; later they are run again to see how fast the machine is then
// (machine_speed.h).
//
// There are two: a GEMM for work that arithmetic limits, and a pass over memory for work that
// memory bandwidth limits.
class Yardstick {
 public:
  static constexpr double kFlops = 2.0 * 512 * 512 * 512;  // of one GEMM, which fits into caches
  // Memory that is too large for caches.
  static constexpr Bytes kMemoryBytes = 96_MiB;

  // Uses the threads of `context`, which must outlive it, and allocates `memory_bytes` (at least 8
  // MiB; CHECK) and 3 MiB for the matrices. ResourceExhausted if there is too little memory.
  static absl::StatusOr<Yardstick> Create(Clock& clock, const KernelContext& context,
                                          Bytes memory_bytes = kMemoryBytes);
  // The same in existing memory, which must outlive it; its contents are lost. With less than 8 MiB
  // only TimeGemm may be called.
  static absl::StatusOr<Yardstick> CreateIn(Clock& clock, const KernelContext& context,
                                            std::span<std::byte> borrowed);

  // Each runs its fixed work once, which takes one to three milliseconds, and returns the seconds.
  absl::StatusOr<double> TimeGemm();
  absl::StatusOr<double> TimeMemoryPass();  // adds an array of fp32 to another
  // Both in turn, for about `time` and at least once, after a run of each that is not timed. With
  // less than 8 MiB of memory there are no memory passes.
  struct Window {
    double gemm_seconds = 0;    // mean of a GEMM
    double memory_seconds = 0;  // mean of a memory pass; 0: there were none
  };
  absl::StatusOr<Window> TimeBoth(Seconds time);
  double bytes() const { return 12.0 * static_cast<double>(values_); }  // moved by TimeMemoryPass

 private:
  Yardstick(Clock& clock, const KernelContext& context, HostMemory matrices, HostMemory owned,
            std::span<std::byte> streamed);

  Clock* clock_;
  const KernelContext* context_;
  HostMemory matrices_;
  HostMemory owned_;  // empty: `streamed_` is borrowed
  std::span<std::byte> streamed_;
  int64_t values_;    // values that a memory pass adds
  int64_t next_ = 0;  // the next piece; they take turns, so no cache holds it
};

}  // namespace horizon
