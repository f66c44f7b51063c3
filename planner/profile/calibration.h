#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/files/io.h"
#include "schedule/stream_plan.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// The calibration: numbers that data sheets do not contain, fitted to published runs. They are all
// in one file, planner/profile/calibration.json, together with the rows that each number was fitted
// on. The accuracy of the simulator is judged on all other rows.

// Fitted rates of one machine of the catalog. A missing rate stays as in its profile.
struct MachineCalibration {
  std::string machine;  // its name in the catalog
  // The highest rate of the GEMM curve; the attention curve is scaled by the same factor.
  std::optional<double> gemm_bf16_flops_per_second;
  std::optional<double> pack_bytes_per_second;       // for any number of threads
  std::optional<double> adam_parameters_per_second;  // of bf16-weights, for any number of threads
  std::vector<std::string> fitted_on;                // "experiment: row", or a reason
};

// Fitted numbers of one strategy's software.
struct StrategyCalibration {
  Strategy strategy = Strategy::kReference;
  Software software;
  // These say how large a batch its users could run: the largest one with buffers that fit
  // batch_share of the device. If batch_reserve_bytes is not 0, that many bytes per parameter stand
  // for everything that does not grow with the batch. batch_logit_bytes are added for each logit.
  double batch_share = 1;
  double batch_reserve_bytes = 0;
  double batch_logit_bytes = 0;
  std::vector<std::string> fitted_on;
};

struct Calibration {
  std::vector<MachineCalibration> machines;
  std::vector<StrategyCalibration> strategies;

  // The entry, or nullptr where there is none.
  const MachineCalibration* Find(std::string_view machine) const;
  const StrategyCalibration* Find(Strategy strategy) const;
  Software SoftwareOf(Strategy strategy) const;  // defaults where there is no entry
};

// The calibration that is compiled into the program. (An invalid file is a bug: CHECK.)
const Calibration& BuiltInCalibration();
absl::StatusOr<Calibration> ReadCalibration(const Document& document);
std::string WriteCalibration(const Calibration& calibration);

// The profile with its figures replaced by the fitted ones, where there are any.
HardwareProfile WithCalibration(HardwareProfile profile, const Calibration& calibration);

// LoadMachine followed by WithCalibration if the name is in the catalog. A profile from a file is
// not calibrated.
absl::StatusOr<HardwareProfile> LoadCalibratedMachine(Io& io, std::string_view name_or_file);

}  // namespace horizon
