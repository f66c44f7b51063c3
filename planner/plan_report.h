#pragma once

#include <string>
#include <vector>

#include "common/documents/json.h"
#include "model/model_spec.h"
#include "planner/explain_plan.h"
#include "planner/largest_model.h"
#include "planner/make_plan.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// The planner's answers as text for people and as JSON for programs.

struct PlanReport {
  const ModelSpec& spec;
  const HardwareProfile& profile;
  const PlanAnswer& answer;
  const std::vector<Alternative>& alternatives;  // empty unless they were requested
  double margin = 0;
};
std::string PlanReportText(const PlanReport& report);
// {"feasible", "runnable", "plan", "job", "proposals", "prediction": {"step_seconds",
//  "tokens_per_second", "model_tflops", "host_bytes", "pinned_bytes", "device_bytes", "lanes",
//  "stalls", "limits", "memory"}, "save": {"bytes", "weights_bytes", "seconds", ...}, "search",
//  "alternatives", "shortages", "remedies"}. If the PCIe link of the machine runs below its best,
//  also "link_problem".
std::string PlanReportJson(const PlanReport& report);

// A prediction alone: the answer of `horizon simulate`, and a part of the reports above.
std::string PredictionText(const Prediction& prediction, const HardwareProfile& profile);
void WritePrediction(const Prediction& prediction, const HardwareProfile& profile,
                     JsonWriter& writer);

struct LargestReport {
  const HardwareProfile& profile;
  const LargestModels& largest;
  const std::vector<Purchase>& purchases;
};
std::string LargestReportText(const LargestReport& report);
// {"largest": {"layers", "parameters", ...}, "largest_size", "limit", "purchases"}.
std::string LargestReportJson(const LargestReport& report);

}  // namespace horizon
