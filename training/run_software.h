#pragma once

#include "common/process_memory.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/cost_model.h"

namespace horizon {

// The calibration with which a run of `plan` is predicted: the built-in one of the plan's strategy,
// with process_bytes set from the memory that this process uses `now` and what a run adds to it
// (planner/process_estimate.h).
Software SoftwareOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device);

}  // namespace horizon
