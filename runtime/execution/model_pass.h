#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "runtime/execution/executor.h"
#include "runtime/execution/lane_resources.h"
#include "runtime/execution/operation_bodies.h"
#include "runtime/execution/run_environment.h"
#include "runtime/execution/run_memory.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/schedule.h"

namespace horizon {

// A pass over a model (training, evaluation, ...), ready to run: its verified schedule, all of its
// memory, the store of its parameters, and the bodies of its operations. One thread.
class ModelPass {
 public:
  struct Work {
    const ModelSpec& spec;
    const TrainingJob& job;
    const StreamPlan& plan;
    PassKind kind = PassKind::kTrain;
  };

  // Builds and verifies the schedule, refuses what cannot run, reserves all memory, with
  // `spare_device_bytes` on the device for a pass that will be made beside this one. The spec, and
  // what the environment names, outlive the pass.
  static absl::StatusOr<std::unique_ptr<ModelPass>> Create(const Work& work,
                                                           const RunEnvironment& environment,
                                                           Bytes spare_device_bytes = {});
  // The same with a schedule that is built, such as the one a prediction was made from: it is
  // verified here, and is the object that runs.
  static absl::StatusOr<std::unique_ptr<ModelPass>> Create(const ModelSpec& spec, Schedule schedule,
                                                           const RunEnvironment& environment,
                                                           Bytes spare_device_bytes = {});
  // A pass over the same parameters (run_memory.h). `first` outlives it; the two never run at once.
  static absl::StatusOr<std::unique_ptr<ModelPass>> CreateBeside(const Work& work,
                                                                 const ModelPass& first);

  const ModelSpec& spec() const { return spec_; }
  const Schedule& schedule() const { return *schedule_; }
  const RunMemory& memory() const { return *memory_; }
  const OperationBodies& bodies() const { return *bodies_; }
  const RunEnvironment& environment() const { return environment_; }
  // Not of a pass made beside another: its store is the other's.
  ParameterStore& store() { return *store_; }

  // Lanes that take the steps of this pass, until the executor is destroyed; one at a time. What
  // they take of the device is made by the first call and used again by all others. `watch` may be
  // null.
  absl::StatusOr<std::unique_ptr<Executor>> Start(UpdateWatch* watch = nullptr) const;

 private:
  ModelPass(const ModelSpec& spec, const RunEnvironment& environment)
      : spec_(spec), environment_(environment) {}
  absl::Status Take(Schedule schedule);  // once it is proven
  absl::Status FillRotaryTables();

  const ModelSpec& spec_;
  const RunEnvironment environment_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<RunMemory> memory_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<OperationBodies> bodies_;
  mutable std::unique_ptr<LaneResources> resources_;  // from the first Start on
};

}  // namespace horizon
