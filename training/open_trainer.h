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

struct TrainerSettings {
  DeviceName device;
  std::optional<BytesPerSecond> link;  // copies are held to this, each way; device host only
  Clock& clock;                        // outlives the trainer
  Log* log = nullptr;                  // that a CUDA device warns on; outlives it too
  NonFinitePolicy non_finite = NonFinitePolicy::kStop;
  std::function<void(const absl::Status&)> on_stall;  // see RunEnvironment
};

// A trainer and the device it is on, which has exactly the memory that the schedule lays out.
struct OpenedTrainer {
  ComputeDevice device;
  std::unique_ptr<Trainer> trainer;

  Device& on() const { return *device.device; }
};

// Takes the device's memory and all of the host's; the store is empty. The schedule that is handed
// in, such as the one a prediction was made from, is verified and is the one that runs:
//   ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(spec, job, plan));
//   ASSIGN_OR_RETURN(OpenedTrainer opened,
//                    OpenTrainer(spec, std::move(schedule), {.clock = clock}));
//   RETURN_IF_ERROR(opened.trainer->store().Fill(OpenWeights(RandomWeights{.seed = 1}, spec)));
// Errors of OpenComputeDevice and Trainer::Create. `spec` outlives the result.
absl::StatusOr<OpenedTrainer> OpenTrainer(const ModelSpec& spec, Schedule schedule,
                                          const TrainerSettings& settings);

// The bytes of the device that a schedule lays out.
Bytes ArenaBytes(const Schedule& schedule);

}  // namespace horizon
