#pragma once

#include <vector>

#include "model/model_spec.h"
#include "planner/make_plan.h"
#include "schedule/schedule.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// Finds what limits a run, by trying: one part of the machine at a time is enlarged by the factor
// kEnlarged, and the step is predicted again. A part is a limit if this shortens the step, whatever
// else is busy or full. For example, a plan may fill the device with chunks that need not be loaded
// again: the device memory is 95 % full, and yet more of it would gain next to nothing.
//
// kEnlarged is 1.25: large enough for an effect above the 0.2 % by which a search may miss the best
// plan, and small enough that the present limit stays the limit. A limit that gains less than
// kLeastGain is left out.
inline constexpr double kLeastGain = 0.01;

// The machine with `factor` times the rates of one part:
//   compute    GEMMs, attention, kernels' memory traffic and launches
//   link       copies in both directions
//   host DRAM  every pass of the host over its memory, Adam among them; the cores keep up with it
HardwareProfile WithFasterDevice(HardwareProfile profile, double factor);
HardwareProfile WithFasterLink(HardwareProfile profile, double factor);
HardwareProfile WithFasterHost(HardwareProfile profile, double factor);

// The limits among the rates, for a plan that stays as it is. The largest gain comes first.
std::vector<RunLimit> FindRateLimits(const ModelSpec& spec, const Schedule& schedule,
                                     const Setting& setting, double step_seconds);

// The limits of a feasible answer of the planner, memories included: with more memory the plan is
// searched again, near the one that was chosen (what stays on the device, activation checkpoints,
// and the strategy where that is free). A memory that is not full enough to matter is not tried.
// `answer` must be MakePlan(request).
std::vector<RunLimit> FindLimits(const PlanRequest& request, const PlanAnswer& answer);

}  // namespace horizon
