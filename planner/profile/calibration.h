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

// What data sheets do not say, fitted to published runs. All of it stands in one file
// (planner/profile/calibration.json) with the rows each number was fitted on; every other row
// judges it.

struct MachineCalibration {
  std::string machine;  // of the catalog
  // Top of the GEMM curve; attention keeps its share of it.
  std::optional<double> gemm_bf16_flops_per_second;
  std::optional<double> pack_bytes_per_second;       // whatever the threads
  std::optional<double> adam_parameters_per_second;  // bf16-weights, whatever the threads
  std::vector<std::string> fitted_on;                // "experiment: row", or a reason
};

struct StrategyCalibration {
  Strategy strategy = Strategy::kReference;
  Software software;
  // How large a batch its users could run: the largest whose buffers fit batch_share of the device.
  // Where batch_reserve_bytes is not 0, that many bytes a parameter stand for all that does not
  // grow with the batch; batch_logit_bytes come on top for each logit.
  double batch_share = 1;
  double batch_reserve_bytes = 0;
  double batch_logit_bytes = 0;
  std::vector<std::string> fitted_on;
};

struct Calibration {
  std::vector<MachineCalibration> machines;
  std::vector<StrategyCalibration> strategies;

  // The entry, or nullptr where there is none: all as the profile says.
  const MachineCalibration* Find(std::string_view machine) const;
  const StrategyCalibration* Find(Strategy strategy) const;
  Software SoftwareOf(Strategy strategy) const;
};

// The file that is part of the program (CHECKed: it is ours).
const Calibration& BuiltInCalibration();
absl::StatusOr<Calibration> ReadCalibration(const Document& document);
std::string WriteCalibration(const Calibration& calibration);

// The profile with fitted figures where there are some.
HardwareProfile WithCalibration(HardwareProfile profile, const Calibration& calibration);

// LoadMachine, calibrated when a machine of the catalog was named (a file speaks for itself).
absl::StatusOr<HardwareProfile> LoadCalibratedMachine(Io& io, std::string_view name_or_file);

}  // namespace horizon
