#include "experiments/past_errors.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/documents/json.h"
#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/compare_row.h"
#include "experiments/experiment.h"
#include "experiments/simulate_row.h"
#include "planner/machines/machine_catalog.h"
#include "planner/profile/calibration.h"

namespace horizon {
namespace {

// Errors that were collected, and what they are of.
struct Collected {
  std::vector<double> errors;
  std::set<std::string> machines;
  std::set<std::string> classes;

  absl::Status Add(double error, const std::string& machine, Io& io) {
    ASSIGN_OR_RETURN(const HardwareProfile profile, LoadMachine(io, machine));
    if (profile.device_class.has_value()) classes.insert(*profile.device_class);
    errors.push_back(std::abs(error));
    machines.insert(machine);
    return absl::OkStatus();
  }
  // Three digits: they tell how far to trust a prediction, not more.
  PastErrors Finish(std::string_view runs) const {
    const auto rounded = [](double error) { return std::round(error * 1e3) / 1e3; };
    PastErrors past{.runs = static_cast<int64_t>(errors.size()), .runs_of = std::string(runs)};
    if (!machines.empty()) past.runs_of += StrCat(" on ", absl::StrJoin(machines, ", "));
    past.classes.assign(classes.begin(), classes.end());
    if (errors.empty()) return past;
    past.median = rounded(Median(errors));
    past.worst = rounded(*std::max_element(errors.begin(), errors.end()));
    return past;
  }
};

absl::StatusOr<PastErrors> ErrorsOfValidation(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  const Value* runs = document.root.Find("runs");
  const Value::Array* all = runs == nullptr ? nullptr : runs->As<Value::Array>();
  Collected collected;
  for (size_t i = 0; all != nullptr && i < all->size(); ++i) {
    const Value* error = (*all)[i].Find("error");
    const double* number = error == nullptr ? nullptr : error->As<double>();
    if (number == nullptr) return ErrorAt(document, (*all)[i], "runs", "has no error");
    collected.errors.push_back(std::abs(*number));
  }
  if (collected.errors.empty()) {
    return absl::InvalidArgumentError(StrCat(path, " has no runs: is it of validate --json?"));
  }
  return collected.Finish("runs on device host");
}

}  // namespace

absl::StatusOr<PredictionErrors> FindPredictionErrors(Io& io, const std::string& validate_json) {
  ASSIGN_OR_RETURN(const std::vector<Experiment> experiments, LoadExperiments());
  Collected fitted;
  Collected data_sheet;
  for (const Experiment& experiment : experiments) {
    for (const PublishedRow& row : experiment.rows) {
      const std::optional<Strategy> strategy = StrategyOf(row.system);
      const bool counts = row.use == RowUse::kJudged && row.tier == Tier::kA &&
                          row.metric != Metric::kHostGib && row.metric != Metric::kStatus;
      if (!counts || !strategy.has_value()) continue;
      if (*strategy != Strategy::kReference && *strategy != Strategy::kHorizon) continue;
      ASSIGN_OR_RETURN(const std::optional<RowResult> result,
                       SimulateRow(io, row, BuiltInCalibration()));
      const std::optional<double> error =
          result.has_value() ? ErrorOf(*result) : std::optional<double>();
      if (!error.has_value()) continue;
      Collected& collected = *strategy == Strategy::kReference ? fitted : data_sheet;
      RETURN_IF_ERROR(collected.Add(*error, row.machine, io));
    }
  }
  PredictionErrors errors{.fitted = fitted.Finish("published runs"),
                          .data_sheet = data_sheet.Finish("published runs")};
  ASSIGN_OR_RETURN(errors.measured, ErrorsOfValidation(io, validate_json));
  return errors;
}

}  // namespace horizon
