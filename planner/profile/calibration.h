#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "schedule/stream_plan.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// The calibration: numbers that data sheets do not contain, fitted to published runs. They are all
// in one file, planner/profile/calibration.json, together with the rows that each number was fitted
// on. The accuracy of the simulator is judged on all other rows.

// A speed as a multiple of what the catalog's profile says.
struct FittedSpeed {
  double value = 1;
  double deviation = 0;  // its standard deviation, as a share of it
  friend bool operator==(const FittedSpeed&, const FittedSpeed&) = default;
};

// How fast the published Python system is on one machine of the catalog. These speeds belong to
// that software: to strategy `reference`, and to the baselines that the paper ran on the same
// machine. Strategies that horizon runs itself never get them. A missing speed is 1.
struct MachineCalibration {
  std::string machine;              // its name in the catalog
  std::optional<FittedSpeed> gemm;  // of bf16 GEMMs and attention
  std::optional<FittedSpeed> pack;
  std::optional<FittedSpeed> adam;
  std::vector<std::string> fitted_on;  // "experiment: row", or a reason
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
  // The strategy's own numbers; defaults where there is no entry. For machines that were measured,
  // whose profile has every rate.
  Software SoftwareOf(Strategy strategy) const;
  // The same with the speeds of the published system on that machine, if the strategy is
  // `reference` or simulated only and the machine is one of `machines`.
  Software SoftwareOf(Strategy strategy, const HardwareProfile& profile) const;
};

// The calibration that is compiled into the program. (An invalid file is a bug: CHECK.)
const Calibration& BuiltInCalibration();
absl::StatusOr<Calibration> ReadCalibration(const Document& document);
std::string WriteCalibration(const Calibration& calibration);

}  // namespace horizon
