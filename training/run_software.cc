#include "training/run_software.h"

#include "planner/calibration.h"
#include "planner/process_estimate.h"

namespace horizon {

Software SoftwareOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device) {
  Software software = BuiltInCalibration().SoftwareOf(plan.strategy);
  software.process_bytes = ProcessBytesOfRun(now, plan, device);
  return software;
}

}  // namespace horizon
