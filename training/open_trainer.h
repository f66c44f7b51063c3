#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "runtime/execution/compute_device.h"
#include "runtime/execution/trainer.h"
#include "schedule/schedule.h"

namespace horizon {

// How OpenTrainer opens its device and trains on it.
struct TrainerSettings {
  DeviceName device;
  std::optional<BytesPerSecond> link;  // limits copies in each direction; host device only
  Clock& clock;                        // outlives the trainer
  Log* log = nullptr;                  // receives warnings of a CUDA device; outlives the trainer
  NonFinitePolicy non_finite = NonFinitePolicy::kStop;
  std::function<void(const absl::Status&)> on_stall;  // see RunEnvironment
};

// A trainer and its device. The device has exactly the memory that the schedule lays out.
struct OpenedTrainer {
  ComputeDevice compute_device;
  std::unique_ptr<Trainer> trainer;

  Device& device() const { return *compute_device.device; }
};

// Opens a device and creates a trainer on it. This allocates all device and host memory of the run;
// the parameter store is still empty. The trainer verifies and runs the given schedule, such as the
// one that a prediction was made from:
//   ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(spec, job, plan));
//   ASSIGN_OR_RETURN(OpenedTrainer opened,
//                    OpenTrainer(spec, std::move(schedule), {.clock = clock}));
//   RETURN_IF_ERROR(opened.trainer->store().Fill(OpenWeights(RandomWeights{.seed = 1}, spec)));
// Returns the errors of OpenComputeDevice and Trainer::Create. `spec` must outlive the result.
absl::StatusOr<OpenedTrainer> OpenTrainer(const ModelSpec& spec, Schedule schedule,
                                          const TrainerSettings& settings);

// The device memory that a schedule lays out.
Bytes ArenaBytes(const Schedule& schedule);

}  // namespace horizon
