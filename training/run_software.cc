#include "training/run_software.h"

#include "planner/process_estimate.h"
#include "planner/profile/calibration.h"

namespace horizon {

Software SoftwareOfRun(const ProcessMemory& now, const StreamPlan& plan, DeviceKind device) {
  Software software = BuiltInCalibration().SoftwareOf(plan.strategy);
  software.process_bytes = ProcessBytesOfRun(now, plan, device);
  return software;
}

}  // namespace horizon
