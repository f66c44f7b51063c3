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

// Hears of every update of a chunk that the host makes, on the optimizer's lane: what a checkpoint
// that is written while steps run needs. `step` is the step whose gradient it is.
class UpdateWatch {
 public:
  virtual ~UpdateWatch() = default;
  virtual void BeforeUpdate(int64_t step, int32_t chunk) = 0;  // may wait
  virtual void AfterUpdate(int64_t step, int32_t chunk) = 0;
};

// Executes a schedule, exactly as it stands. Every lane is a thread that takes the lane's
// operations in order, and for each one waits for what the schedule says and runs its body; nothing
// else orders anything, and no operation is made up here.
//
// Lanes h2d, compute and d2h are streams of the device: their thread puts the work on the stream,
// and a wait between two of them is an event the device keeps. Lanes host and optimizer work on
// their thread. Why it cannot deadlock: a schedule lists operations in an order in which they
// could run one by one, every wait points backwards in it, and each lane follows it; so the
// earliest operation that has not ended can always go on (VerifySchedule proves this before).
//
// Steps overlap as the schedule allows: at most two are under way. Buffers, events and results of a
// step are used again three steps later, when no wait can still mean them.
//
// The first error of any lane is kept, with the operation it happened in; all lanes stop at their
// next operation, and every later call returns it. The memory then holds a mixture of steps.
class Executor {
 public:
  // Starts the lanes. What is passed in outlives the executor; `resources` are those of the
  // schedule, and no other executor uses them meanwhile. `watch` may be null.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Schedule& schedule,
                                                          const OperationBodies& bodies,
                                                          const RunEnvironment& environment,
                                                          const LaneResources& resources,
                                                          UpdateWatch* watch = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // Stops the lanes after the operations they are in.
  ~Executor();

  // Puts a step behind those under way; blocks while two are. The first step is `first`, later ones
  // `steady`; `drain` comes last.
  absl::Status Begin(StepKind kind, StepInput input);
  // Waits for the oldest step that was begun. A drain has an empty result.
  absl::StatusOr<StepResult> End();
  int under_way() const { return static_cast<int>(begun_ - ended_); }

  // When the operations of the step ended last ran, as times since the executor began.
  const Timeline& last_timeline() const { return timeline_; }

 private:
  static constexpr int kSlots = LaneResources::kSlots;

  // The operations of a phase, by lane.
  struct PhasePlan {
    const Phase* phase = nullptr;
    std::array<std::vector<OperationId>, kLaneCount> lanes;
    std::vector<int32_t> place;  // of each operation within its lane
  };
  // A step under way.
  struct Slot {
    StepKind kind = StepKind::kFirst;
    const PhasePlan* plan = nullptr;
    StepInput input;
    StepResult result;
    // Operations of each lane in all steps before.
    std::array<uint64_t, kLaneCount> before{};
    std::span<const EventRef> started;  // by operation; device lanes only
    std::span<const EventRef> ended;
    std::vector<int64_t> start_ns;  // by operation; host lanes only
    std::vector<int64_t> end_ns;
  };
  struct LaneState {
    bool on_device = false;
    StreamRef stream;
    Workers* workers = nullptr;  // host lanes
    uint64_t done = 0;  // operations that were issued (device) or have ended (host); by mutex_
    std::string doing;  // by mutex_
    std::jthread thread;
  };

  Executor(const Schedule& schedule, const OperationBodies& bodies,
           const RunEnvironment& environment, const LaneResources& resources, UpdateWatch* watch);
  absl::Status Start();
  PhasePlan PlanOf(const Phase& phase) const;
  const PhasePlan& PlanFor(StepKind kind) const;

  // The rest runs on the thread of a lane.
  void Serve(Lane lane);
  absl::Status RunOne(Lane lane, int64_t step, OperationId id);
  absl::Status WaitFor(Lane lane, int64_t step, const Wait& wait);
  absl::Status RunOnDevice(LaneState& lane, Slot& slot, OperationId id,
                           const OperationBodies::Call& call);
  absl::Status RunOnHost(LaneState& lane, Slot& slot, OperationId id,
                         const OperationBodies::Call& call);
  OperationBodies::Call CallOf(int64_t step, const Operation& operation);
  bool AwaitDone(Lane lane, uint64_t count);  // false: the run has failed
  void Fail(absl::Status status);
  absl::Status FailedIn(const Slot& slot, const Operation& operation, const absl::Status& status);
  absl::Status CollectTimes(const Slot& slot);
  std::string WhatLanesDo() const;  // mutex_ held

  Slot& slot(int64_t step) { return slots_[step % kSlots]; }
  int64_t Now() const { return (environment_.clock.Now() - epoch_).count(); }

  const Schedule& schedule_;
  const OperationBodies& bodies_;
  const RunEnvironment environment_;
  Device& device_;  // the environment's
  const LaneResources& resources_;
  UpdateWatch* const watch_;
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
  bool stopping_ = false;                    // by mutex_
  absl::Status error_;                       // the first one; by mutex_
  std::array<LaneState, kLaneCount> lanes_;  // last: their threads use the rest
};

}  // namespace horizon
