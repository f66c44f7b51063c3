// Fits planner/profile/calibration.json to the rows that published.csv files mark as fitted, and
// prints it:
//   bazel run //experiments:fit_calibration > planner/profile/calibration.json
// Nothing but these rows is looked at; experiments_test checks that the file is what this prints.
#include <cstdio>
#include <memory>

#include "common/files/io.h"
#include "experiments/fit.h"
#include "planner/profile/calibration.h"

int main() {
  const std::unique_ptr<horizon::Io> io = horizon::MakePosixIo();
  const absl::StatusOr<horizon::Calibration> calibration = horizon::FitCalibration(*io);
  if (!calibration.ok()) {
    std::fprintf(stderr, "error: %s\n", calibration.status().ToString().c_str());
    return 1;
  }
  std::fputs(horizon::WriteCalibration(*calibration).c_str(), stdout);
  return 0;
}
