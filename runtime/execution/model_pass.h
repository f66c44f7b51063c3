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

// A pass over a model (training, evaluation, prefill, decoding) that is ready to run: its verified
// schedule, all of its memory, the parameter store, and the bodies of its operations. Used by one
// thread.
class ModelPass {
 public:
  // What to build a schedule from.
  struct Work {
    const ModelSpec& spec;
    const TrainingJob& job;
    const StreamPlan& plan;
    PassKind kind = PassKind::kTrain;
  };

  // Builds and verifies the schedule, rejects what cannot run, and reserves all memory.
  // `spare_device_bytes` are reserved in addition on the device, for a pass that will be created
  // beside this one. The spec, and everything the environment refers to, outlive the pass.
  static absl::StatusOr<std::unique_ptr<ModelPass>> Create(const Work& work,
                                                           const RunEnvironment& environment,
                                                           Bytes spare_device_bytes = {});
  // The same with an existing schedule, such as the one a prediction was made from: it is verified
  // here and then executed.
  static absl::StatusOr<std::unique_ptr<ModelPass>> Create(const ModelSpec& spec, Schedule schedule,
                                                           const RunEnvironment& environment,
                                                           Bytes spare_device_bytes = {});
  // Creates a second pass over the same parameters (run_memory.h), for example decoding beside
  // prefill. `first` outlives it; the two never run at the same time.
  static absl::StatusOr<std::unique_ptr<ModelPass>> CreateBeside(const Work& work,
                                                                 const ModelPass& first);

  const ModelSpec& spec() const { return spec_; }
  const Schedule& schedule() const { return *schedule_; }
  const RunMemory& memory() const { return *memory_; }
  const OperationBodies& bodies() const { return *bodies_; }
  const RunEnvironment& environment() const { return environment_; }
  // The parameter store. A pass made with CreateBeside has none of its own: use the first pass's.
  ParameterStore& store() { return *store_; }

  // Starts an executor for the steps of this pass; one at a time may exist. The first call creates
  // the streams, threads and events, and all later calls reuse them. `observer` may be null.
  absl::StatusOr<std::unique_ptr<Executor>> Start(UpdateObserver* observer = nullptr) const;

 private:
  ModelPass(const ModelSpec& spec, const RunEnvironment& environment)
      : spec_(spec), environment_(environment) {}
  absl::Status VerifyAndKeep(Schedule schedule);
  absl::Status FillRotaryTables();

  const ModelSpec& spec_;
  const RunEnvironment environment_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<RunMemory> memory_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<OperationBodies> bodies_;
  mutable std::unique_ptr<LaneResources> resources_;  // created by the first Start
};

}  // namespace horizon
