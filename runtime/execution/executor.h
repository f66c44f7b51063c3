#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/threads/workers.h"
#include "runtime/device/device.h"
#include "runtime/execution/lane_resources.h"
#include "runtime/execution/operation_bodies.h"
#include "runtime/execution/run_environment.h"
#include "runtime/execution/step.h"
#include "schedule/schedule.h"
#include "schedule/timeline/timeline.h"

namespace horizon {

// Is notified before and after every chunk update that the host makes, on the optimizer lane's
// thread. A checkpoint that is written while steps run needs this (checkpoint_saver.h). `step` is
// the step whose gradient the update applies.
class UpdateObserver {
 public:
  virtual ~UpdateObserver() = default;
  virtual void BeforeUpdate(int64_t step, int32_t chunk) = 0;  // may block the update
  virtual void AfterUpdate(int64_t step, int32_t chunk) = 0;
};

// Executes a schedule exactly as it is. Every lane is a thread that takes the lane's operations in
// order; for each one it waits for the operations that the schedule names and then runs its body
// (operation_bodies.h). Nothing else orders the work, and the executor adds no operations of its
// own.
//
//   executor->Begin(StepKind::kFirst, input1);
//   executor->Begin(StepKind::kSteady, input2);  // overlaps step 1
//   StepResult result1 = *executor->End();
//   ...
//   executor->Begin(StepKind::kDrain, {});       // updates that are still pending
//   executor->End();
//
// The lanes h2d, compute and d2h are streams of the device: their threads enqueue work, and a wait
// between two of them is a device event. The lanes host and optimizer do their work on their own
// thread.
//
// It cannot deadlock. A schedule lists its operations in an order in which they could run one by
// one, every wait points backwards in that order, and each lane follows it; so the earliest
// operation that has not ended can always proceed (VerifySchedule proves this beforehand).
//
// Steps overlap as the schedule allows; at most two are in flight. The slot of a step (its input,
// events and result) is reused three steps later, when no wait can still refer to it.
//
// The first error of any lane is kept, together with the operation in which it happened. All lanes
// then stop at their next operation, and every later call returns that error. The memory then holds
// a mixture of steps.
class Executor {
 public:
  // Starts the lanes' threads. Everything passed in outlives the executor. `resources` were made
  // for this schedule, and no other executor uses them at the same time. `observer` may be null.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Schedule& schedule,
                                                          const OperationBodies& bodies,
                                                          const RunEnvironment& environment,
                                                          const LaneResources& resources,
                                                          UpdateObserver* observer = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // Stops the lanes after the operations they are executing.
  ~Executor();

  // Starts a step behind those in flight, of which there may be at most one (a third step before
  // End is a CHECK). The first step is `first`, later ones are `steady`; `drain` comes last.
  absl::Status Begin(StepKind kind, StepInput input);
  // Waits for the oldest step in flight. The result of a drain is empty.
  absl::StatusOr<StepResult> End();
  // Steps in flight: begun and not ended.
  int under_way() const { return static_cast<int>(begun_ - ended_); }

  // When each operation of the step that ended last ran, in times since the executor was created.
  const Timeline& last_timeline() const { return timeline_; }

 private:
  static constexpr int kSlots = LaneResources::kSlots;

  // The operations of a phase, by lane.
  struct PhasePlan {
    const Phase* phase = nullptr;
    std::array<std::vector<OperationId>, kLaneCount> lanes;
    std::vector<int32_t> place;  // each operation's position within its lane
  };
  // A step in flight.
  struct Slot {
    StepKind kind = StepKind::kFirst;
    const PhasePlan* plan = nullptr;
    StepInput input;
    StepResult result;
    // How many operations each lane had in all steps before this one.
    std::array<uint64_t, kLaneCount> before{};
    std::span<const EventRef> started;  // indexed by operation; device lanes only
    std::span<const EventRef> ended;
    std::vector<int64_t> start_ns;  // indexed by operation; host lanes only
    std::vector<int64_t> end_ns;
  };
  struct LaneState {
    bool on_device = false;
    StreamRef stream;
    Workers* workers = nullptr;  // host lanes
    // Operations that were enqueued (device lanes) or have ended (host lanes); guarded by mutex_.
    uint64_t done = 0;
    std::string doing;  // name of the present operation; guarded by mutex_
    std::jthread thread;
  };

  Executor(const Schedule& schedule, const OperationBodies& bodies,
           const RunEnvironment& environment, const LaneResources& resources,
           UpdateObserver* observer);
  absl::Status Start();
  PhasePlan MakePhasePlan(const Phase& phase) const;
  const PhasePlan& PlanFor(StepKind kind) const;

  // The following functions run on the thread of a lane.
  void RunLane(Lane lane);
  absl::Status RunOne(Lane lane, int64_t step, OperationId id);
  absl::Status WaitFor(Lane lane, int64_t step, const Wait& wait);
  absl::Status RunOnDevice(LaneState& lane, Slot& slot, OperationId id,
                           const OperationBodies::Call& call);
  absl::Status RunOnHost(LaneState& lane, Slot& slot, OperationId id,
                         const OperationBodies::Call& call);
  OperationBodies::Call CallOf(int64_t step, const Operation& operation);
  // Blocks until the lane has done `count` operations; false: the run has failed.
  bool AwaitDone(Lane lane, uint64_t count);
  void Fail(absl::Status status);
  // Adds the step and the operation to an error that does not name an operation yet.
  absl::Status WithOperationName(const Slot& slot, const Operation& operation,
                                 const absl::Status& status);
  absl::Status CollectTimes(const Slot& slot);
  std::string DescribeLanes() const;  // called with mutex_ held

  Slot& slot(int64_t step) { return slots_[step % kSlots]; }
  int64_t Now() const { return (environment_.clock.Now() - epoch_).count(); }

  const Schedule& schedule_;
  const OperationBodies& bodies_;
  const RunEnvironment environment_;
  Device& device_;  // environment_.device
  const LaneResources& resources_;
  UpdateObserver* const observer_;
  const Nanoseconds epoch_;
  PhasePlan first_;
  PhasePlan steady_;
  PhasePlan drain_;
  std::array<Slot, kSlots> slots_;
  Timeline timeline_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t begun_ = 0;                        // steps; written by the caller's thread under mutex_
  int64_t ended_ = 0;                        // the same
  bool stopping_ = false;                    // guarded by mutex_
  absl::Status error_;                       // the first one; guarded by mutex_
  std::array<LaneState, kLaneCount> lanes_;  // last member: their threads use the others
};

}  // namespace horizon
