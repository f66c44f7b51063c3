#include "training/open_trainer.h"

#include <utility>

#include "common/status_macros.h"

namespace horizon {

absl::StatusOr<OpenedTrainer> OpenTrainer(const ModelSpec& spec, Schedule schedule,
                                          const TrainerSettings& settings) {
  OpenedTrainer opened;
  ASSIGN_OR_RETURN(opened.compute_device, OpenComputeDevice({.name = settings.device,
                                                             .capacity = ArenaBytes(schedule),
                                                             .link = settings.link,
                                                             .clock = settings.clock,
                                                             .log = settings.log}));
  ASSIGN_OR_RETURN(opened.trainer,
                   Trainer::Create(spec, std::move(schedule),
                                   {.device = *opened.compute_device.device,
                                    .kernels = *opened.compute_device.kernels,
                                    .clock = settings.clock,
                                    .device_context = opened.compute_device.context.get(),
                                    .on_stall = settings.on_stall},
                                   settings.non_finite));
  return opened;
}

Bytes ArenaBytes(const Schedule& schedule) {
  return schedule.memory.totals[static_cast<size_t>(Memory::kDevice)];
}

}  // namespace horizon
