#include "experiments/compare_row.h"

#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/stages.h"
#include "planner/machines/machine_catalog.h"
#include "planner/make_plan.h"
#include "planner/planned_job.h"

namespace horizon {
namespace {

constexpr std::string_view kPublishedSystem = "megatrain";
constexpr double kGib = 1024.0 * 1024 * 1024;
// The published system's own first.
constexpr StateFormat kStateFormats[] = {StateFormat::kBf16Weights, StateFormat::kFp32,
                                         StateFormat::kBf16Moments, StateFormat::k8BitMoments};

// What makes two rows ask for the same run of `horizon`.
std::string KeyOf(const RowResult& result, StateFormat format) {
  const PublishedRow& row = result.row;
  return StrCat(row.machine, "|", row.model, "|", row.layers.value_or(0), "|",
                row.hidden.value_or(0), "|", row.ffn.value_or(0), "|", row.sequence, "|",
                result.batch, "|", ToString(format));
}

}  // namespace

absl::StatusOr<ComparedRow> RowComparer::Compare(const PublishedRow& row) {
  ComparedRow compared;
  compared.result.row = row;
  ASSIGN_OR_RETURN(std::optional<RowResult> result, SimulateRow(io_, row, calibration_));
  if (!result.has_value()) return compared;
  compared.is_simulated = true;
  compared.result = *std::move(result);
  ASSIGN_OR_RETURN(const ModelSpec spec, SpecOf(io_, row));
  compared.parameters = CountParameters(ListStages(spec)).total;
  ASSIGN_OR_RETURN(const HardwareProfile profile, LoadMachine(io_, row.machine));
  compared.host_capacity = Available(profile, Limit::kHostMemory, 0);
  if (row.system != kPublishedSystem) return compared;
  for (const StateFormat format : kStateFormats) {
    ASSIGN_OR_RETURN(compared.horizon.emplace_back(),
                     RunHorizon(compared.result, spec, profile, format));
    if (row.metric != Metric::kStatus) break;
  }
  return compared;
}

absl::StatusOr<HorizonRun> RowComparer::RunHorizon(const RowResult& result, const ModelSpec& spec,
                                                   const HardwareProfile& profile,
                                                   StateFormat format) {
  const std::string key = KeyOf(result, format);
  if (const auto found = runs_.find(key); found != runs_.end()) return found->second;
  TrainingJob job = JobFor(profile, Strategy::kHorizon);
  job.state_format = format;
  job.sequence = result.row.sequence;
  job.micro_batch = result.batch;
  const Setting setting{.profile = profile,
                        .software = calibration_.SoftwareOf(Strategy::kHorizon)};
  ASSIGN_OR_RETURN(PlanAnswer answer, MakePlan({.spec = spec,
                                                .job = job,
                                                .fixed = PlanFor(Strategy::kHorizon),
                                                .setting = setting,
                                                .effort = SearchEffort::kQuick}));
  HorizonRun run{.state_format = format, .fits = answer.feasible};
  if (run.fits) {
    run.prediction = std::move(answer.search.prediction);
  } else {
    run.shortages = std::move(answer.search.shortages);
  }
  return runs_.emplace(key, std::move(run)).first->second;
}

std::optional<double> ErrorOf(const RowResult& result) {
  if (result.row.lower_bound && result.error.value_or(-1) >= 0) return 0;
  return result.error;
}

std::optional<double> HorizonValue(const ComparedRow& compared) {
  if (compared.horizon.empty() || !compared.horizon.front().fits) return std::nullopt;
  const Prediction& prediction = compared.horizon.front().prediction;
  switch (compared.result.row.metric) {
    case Metric::kTflops:
      return prediction.model_tflops;
    case Metric::kTokensPerSecond:
      return prediction.tokens_per_second;
    case Metric::kStepSeconds:
      return prediction.step_seconds;
    case Metric::kHostGib:
      return static_cast<double>(prediction.memory.host_bytes()) / kGib;
    case Metric::kStatus:
      break;
  }
  return std::nullopt;
}

bool IsOverOurMemory(const ComparedRow& compared) {
  return compared.is_simulated && compared.result.row.status == RunStatus::kOk &&
         !compared.result.fits;
}

bool HasWrongStatus(const ComparedRow& compared) {
  if (!compared.is_simulated || compared.result.status_agrees) return false;
  return compared.result.row.system != kPublishedSystem || !IsOverOurMemory(compared);
}

std::string NameOf(const PublishedRow& row) { return StrCat(row.id, ", ", row.system); }

}  // namespace horizon
