#pragma once

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/profile/calibration.h"

namespace horizon {

// Fits the calibration to the rows that are marked as fitted (least squares of log ratios). It
// starts from the same values every time. For each machine it fits the GEMM rate, and the rates of
// packing and Adam if more than one row is fitted; else these are the catalog's (for the A6000
// those of the RTX 3090 in the same workstation). For the published system it fits the share of the
// device that is left for buffers (from its one published batch), and for each baseline one link
// share. Errors of Io, of the experiments and of SimulateRow.
absl::StatusOr<Calibration> FitCalibration(Io& io);

}  // namespace horizon
