#pragma once

#include <cstdint>

#include "common/process_memory.h"
#include "common/units.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Estimates the RAM that the process of a run takes besides its buffers and their page tables
// (these are predicted exactly): what it has resident now, plus what libraries and the writing of a
// checkpoint add later.
Bytes ProcessBytesOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device);

}  // namespace horizon
