#pragma once

#include "runtime/loop/process_memory.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/cost_model.h"

namespace horizon {

// What this program makes of a machine when it runs a plan: the calibration of the plan's strategy,
// with the memory that this very process has `now` and that a run adds to it (process_estimate.h).
Software SoftwareOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device);

}  // namespace horizon
