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

// The streams, workers and events that the lanes of one pass use. A device keeps its streams (with
// their threads) and its events until it ends, so a pass makes them once and every executor of the
// pass uses them again: a run that evaluates a thousand times has as many threads and takes as much
// memory as one that evaluates once. Executors of a pass never run at once.
class LaneResources {
 public:
  static constexpr int kSlots = 3;  // steps whose events are told apart, see Executor

  // What is passed in outlives the result. ResourceExhausted when the system gives no more
  // threads; errors of the device.
  static absl::StatusOr<std::unique_ptr<LaneResources>> Create(const Schedule& schedule,
                                                               const OperationBodies& bodies,
                                                               const RunEnvironment& environment);

  static bool IsOnDevice(Lane lane);
  // The stream of a lane on the device; null workers there.
  StreamRef stream(Lane lane) const { return lanes_[static_cast<size_t>(lane)].stream; }
  Workers* workers(Lane lane) const { return lanes_[static_cast<size_t>(lane)].workers.get(); }
  // By operation, valid for those on a device lane in any phase. `slot`: 0 .. kSlots - 1.
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
