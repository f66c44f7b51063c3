#pragma once

#include <optional>
#include <string>

#include "experiments/run_experiments.h"

namespace horizon {

// A row and its result, made up: what a test of everything behind the simulation starts from.
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

// An experiment of these rows, summarized.
ExperimentRun MakeRun(std::string name, std::vector<ComparedRow> rows, ErrorBounds bounds = {});

}  // namespace horizon
