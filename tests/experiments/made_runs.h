#pragma once

#include <optional>
#include <string>

#include "experiments/run_experiments.h"

namespace horizon {

// A made-up row with its simulation result, for tests of everything that follows the simulation.
struct MadeRow {
  std::string id = "row";
  std::string system = "megatrain";
  Metric metric = Metric::kTflops;
  std::optional<double> published = 100;
  double simulated = 100;  // also the prediction's TFLOPS and tokens/s
  bool fits = true;
  RunStatus status = RunStatus::kOk;
  Tier tier = Tier::kA;
  RowUse use = RowUse::kJudged;
  bool lower_bound = false;
};
ComparedRow MakeRow(const MadeRow& made);

// An experiment with these rows and their summary.
ExperimentRun MakeRun(std::string name, std::vector<ComparedRow> rows, ErrorBounds bounds = {});

}  // namespace horizon
