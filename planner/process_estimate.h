#pragma once

#include <cstdint>

#include "common/units.h"
#include "runtime/loop/process_memory.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// What the process of a run takes besides its arenas and their pages, which are predicted exactly:
// what it has now, and what libraries and a checkpoint being written add when they first work.
Bytes ProcessBytesOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device);

}  // namespace horizon
