#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/threads/workers.h"
#include "runtime/device/device.h"
#include "runtime/execution/operation_bodies.h"
#include "runtime/execution/run_environment.h"
#include "schedule/schedule.h"

namespace horizon {

// The streams, worker threads and events that the lanes of one pass use. A device keeps its streams
// (with their threads) and its events until it is destroyed. So a pass creates them once and all
// its executors reuse them: a run that evaluates a thousand times has as many threads and uses as
// much memory as one that evaluates once. Executors of a pass never run at the same time.
class LaneResources {
 public:
  static constexpr int kSlots = 3;  // sets of events, one for each step in turn; see Executor

  // Everything passed in outlives the result. ResourceExhausted when the system gives no more
  // threads; errors of the device.
  static absl::StatusOr<std::unique_ptr<LaneResources>> Create(const Schedule& schedule,
                                                               const OperationBodies& bodies,
                                                               const RunEnvironment& environment);

  // Whether the lane is a stream of the device (h2d, compute, d2h) and not a thread of the host.
  static bool IsOnDevice(Lane lane);
  // A device lane has a stream and null workers; a host lane has workers.
  StreamRef stream(Lane lane) const { return lanes_[static_cast<size_t>(lane)].stream; }
  Workers* workers(Lane lane) const { return lanes_[static_cast<size_t>(lane)].workers.get(); }
  // The events before and after each operation, indexed by operation id. They are valid for
  // operations that are on a device lane in any phase. `slot`: 0 .. kSlots - 1.
  const std::vector<EventRef>& started(int slot) const { return started_[slot]; }
  const std::vector<EventRef>& ended(int slot) const { return ended_[slot]; }

 private:
  struct LaneHolds {
    StreamRef stream;
    std::unique_ptr<Workers> workers;
  };
  LaneResources() = default;
  absl::Status CreateLanes(const StreamPlan& plan, const OperationBodies& bodies,
                           const RunEnvironment& environment);
  absl::Status CreateEvents(const Schedule& schedule, Device& device);

  std::array<LaneHolds, kLaneCount> lanes_;
  std::array<std::vector<EventRef>, kSlots> started_;
  std::array<std::vector<EventRef>, kSlots> ended_;
};

}  // namespace horizon
