#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "planner/profile/measure_contention.h"

namespace horizon {

// A workload for each of the five lanes on device `host`, made of the kernels that a run uses:
// expanding weights into a ring slot, a GEMM, copying a gradient out, accumulating a gradient with
// its norm, and Adam. They are used to measure how lanes slow each other down. Each workload walks
// through memory of its own; together they exceed the caches, as a step does.
class HostLaneWorkloads {
 public:
  // The compute lane runs on `compute_threads` threads (at least 1; CHECK) and every other lane on
  // one. With one thread less than there are cores, any two lanes have cores of their own.
  // `memory_bytes` (at least kLeastLaneBytes; CHECK) is for all lanes together. ResourceExhausted
  // if there is too little memory, or threads cannot be started.
  static absl::StatusOr<std::unique_ptr<HostLaneWorkloads>> Create(int64_t compute_threads,
                                                                   Bytes memory_bytes);
  HostLaneWorkloads(const HostLaneWorkloads&) = delete;
  HostLaneWorkloads& operator=(const HostLaneWorkloads&) = delete;
  ~HostLaneWorkloads();

  // The workloads use this object, so they must not outlive it.
  const std::vector<LaneWorkload>& workloads() const { return workloads_; }

  static constexpr size_t kWorkloads = 5;  // how many there are

 private:
  struct Parts;
  explicit HostLaneWorkloads(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  std::vector<LaneWorkload> workloads_;
};
inline constexpr Bytes kLeastLaneBytes = 20_MiB;

}  // namespace horizon
