#pragma once

#include <string>
#include <vector>

#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Changes worth trying: of the job, which are free, and of the machine, which are bought. What each
// gains is found by planning with it: for the largest model (largest_model.h) or for one job
// (find_gains.h).
struct ChangedSetup {
  std::string what;     // "host memory x2 (960 GB)", "8-bit moments"
  std::string options;  // that make the change; empty for a purchase
  std::string cost;     // what it costs in exactness; empty for a purchase
  TrainingJob job;
  HardwareProfile profile;
};

// A gain below this, in either direction, is noise of a quick search.
inline constexpr double kNoiseGain = 0.03;

// Changes of the job that cost no money, but change the numbers of a run: smaller states, updates
// in backward (and both), bf16 gradients, shorter samples.
std::vector<ChangedSetup> FreeChangesOf(const TrainingJob& job, const HardwareProfile& profile,
                                        Strategy strategy);
// Changes of the machine: twice the RAM, the link rate, the processors with their memory channels,
// or the device memory, and those of `others` whose devices are the next faster cards. A machine
// without a card has neither link nor device memory to enlarge.
std::vector<ChangedSetup> PurchasesOf(const TrainingJob& job, const HardwareProfile& today,
                                      const std::vector<HardwareProfile>& others);

}  // namespace horizon
