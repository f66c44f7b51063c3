#include "tests/experiments/made_runs.h"

#include <utility>

namespace horizon {

ComparedRow MakeRow(const MadeRow& made) {
  ComparedRow compared{.is_simulated = true};
  RowResult& result = compared.result;
  result.row.id = made.id;
  result.row.system = made.system;
  result.row.machine = "gh200";
  result.row.model = "qwen2.5-7b";
  result.row.metric = made.metric;
  result.row.published = made.published;
  result.row.lower_bound = made.lower_bound;
  result.row.status = made.status;
  result.row.tier = made.tier;
  result.row.use = made.use;
  result.batch = 8;
  result.fits = made.fits;
  result.status_agrees =
      made.status == RunStatus::kUnknown || made.fits == (made.status == RunStatus::kOk);
  result.prediction.model_tflops = made.simulated;
  result.prediction.tokens_per_second = made.simulated;
  result.prediction.step_seconds = 1 / made.simulated;
  result.sampled_host_gib = made.simulated;
  if (!made.fits) {
    result.prediction.shortages = {
        {.limit = Limit::kHostMemory, .needed = 3'000'000'000_B, .available = 1'000'000'000_B}};
  }
  if (made.metric != Metric::kStatus) {
    result.simulated = made.simulated;
    if (made.published.has_value()) result.error = made.simulated / *made.published - 1;
  }
  return compared;
}

ExperimentRun MakeRun(std::string name, std::vector<ComparedRow> rows, ErrorBounds bounds) {
  ExperimentRun run;
  run.experiment = {.name = std::move(name), .title = "A title", .summary = "A summary."};
  run.experiment.bounds = bounds;
  for (const ComparedRow& row : rows) run.experiment.rows.push_back(row.result.row);
  run.rows = std::move(rows);
  run.summary = Summarize(bounds, run.rows);
  return run;
}

}  // namespace horizon
