#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "planner/profile/measure_contention.h"

namespace horizon {

// What each lane of a step does on device `host`, piece by piece, by the kernels a run uses:
// weights expanded into a slot, products, a gradient copied out, a gradient accumulated and normed,
// Adam. Each walks through memory of its own that no cache holds together, as a step does.
class HostLaneWorks {
 public:
  // The compute lane has `compute_threads` (at least 1; CHECK), the others one each: with all cores
  // but one, two lanes have cores of their own. memory_bytes (at least kLeastLaneBytes) for all
  // lanes together. ResourceExhausted without memory or threads.
  static absl::StatusOr<std::unique_ptr<HostLaneWorks>> Create(int64_t compute_threads,
                                                               Bytes memory_bytes);
  HostLaneWorks(const HostLaneWorks&) = delete;
  HostLaneWorks& operator=(const HostLaneWorks&) = delete;
  ~HostLaneWorks();

  // They refer to this object.
  const std::vector<LaneWork>& works() const { return works_; }

  static constexpr size_t kWorks = 5;

 private:
  struct Parts;
  explicit HostLaneWorks(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  std::vector<LaneWork> works_;
};
inline constexpr Bytes kLeastLaneBytes = 20_MiB;

}  // namespace horizon
