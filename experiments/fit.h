#pragma once

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/profile/calibration.h"

namespace horizon {

// Fits the calibration to the rows that are marked as fitted (least squares of log ratios, by
// Levenberg-Marquardt). It starts from the same values every time. For each computer of the paper
// it fits, all at once, the speed of GEMMs on each of its machines and, if there are more rows than
// machines, the speeds of packing and Adam, as multiples of the catalog's rates; each with the
// deviation that follows from the noise of published figures. For the published system it also
// finds the share of the device that is left for buffers (from its one published batch), and for
// each baseline one link share. Errors of Io, of the experiments and of SimulateRow.
absl::StatusOr<Calibration> FitCalibration(Io& io);

}  // namespace horizon
