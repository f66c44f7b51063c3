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

// A published run, simulated: the same model, machine, batch and settings, with the strategy that
// stands for the published system.

struct RowResult {
  PublishedRow row;
  int64_t batch = 0;            // published, or the largest that the memory model allows
  bool fits = false;            // by our memory; a run that does not fit is timed all the same
  Prediction prediction;        // with the published system's strategy
  double sampled_host_gib = 0;  // host memory as the paper sampled it: after gradients are freed
  // The metric of the row, and its relative error against the published figure (0.05: 5 % above).
  // Nothing where there is none to compare.
  std::optional<double> simulated;
  std::optional<double> error;
  bool status_agrees = true;  // ran or ran out, as published
};

// Loads the model and machine of a row (NotFound if the catalog has no such), and simulates.
// nullopt for a system that is not simulated.
absl::StatusOr<std::optional<RowResult>> SimulateRow(Io& io, const PublishedRow& row,
                                                     const Calibration& calibration);

// The model of a row: the catalog's, with layers, width and positions changed.
absl::StatusOr<ModelSpec> SpecOf(Io& io, const PublishedRow& row);

// The largest batch whose buffers fit what the strategy's users have for them (calibration.h); at
// least 1.
int64_t LargestBatch(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                     const HardwareProfile& profile, const StrategyCalibration& calibration);

}  // namespace horizon
