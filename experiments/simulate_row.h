#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "experiments/published_row.h"
#include "planner/profile/calibration.h"
#include "simulator/prediction.h"

namespace horizon {

// Simulates a published run: the same model, machine, batch and settings, with the strategy that
// simulates the published system.

// A row with its simulation.
struct RowResult {
  PublishedRow row;
  int64_t batch = 0;      // the published one, or the largest that the memory model allows
  bool fits = false;      // by our memory model; a run that does not fit is timed all the same
  Prediction prediction;  // with the published system's strategy
  double sampled_host_gib = 0;  // host memory as the paper sampled it: after gradients are freed
  // The row's metric, and its relative error against the published figure (0.05: 5 % above). Empty
  // if there is nothing to compare.
  std::optional<double> simulated;
  std::optional<double> error;
  bool status_agrees = true;  // fits or runs out of memory as published
};

// Loads the model and machine of a row (NotFound if the catalog does not have them) and simulates
// the run. nullopt for a system that no strategy simulates.
absl::StatusOr<std::optional<RowResult>> SimulateRow(Io& io, const PublishedRow& row,
                                                     const Calibration& calibration);

// The model of a row: the catalog's model with the row's layers and widths, and with enough
// positions for its sequence.
absl::StatusOr<ModelSpec> SpecOf(Io& io, const PublishedRow& row);

// The largest batch whose buffers fit the device memory that the calibration leaves for them
// (calibration.h); at least 1.
int64_t LargestBatch(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                     const HardwareProfile& profile, const StrategyCalibration& calibration);

}  // namespace horizon
