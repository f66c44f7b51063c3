#pragma once

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/profile/calibration.h"

namespace horizon {

// The calibration that comes nearest to the rows marked as fitted (least squares of log ratios),
// from the same start every time. Machines: GEMM rate on all; packing and Adam where more than one
// row is fitted, else as the catalog (or, for the A6000, the RTX 3090 in the same workstation) has
// them. Strategies: what the published system leaves of the device (from its one published batch),
// and one link share for each baseline.
absl::StatusOr<Calibration> FitCalibration(Io& io);

}  // namespace horizon
