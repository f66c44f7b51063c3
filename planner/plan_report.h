#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/documents/json.h"
#include "model/model_spec.h"
#include "planner/explain_plan.h"
#include "planner/find_gains.h"
#include "planner/make_plan.h"
#include "planner/run_length.h"
#include "simulator/hardware_profile.h"
#include "simulator/prediction.h"

namespace horizon {

// The planner's answers as text for people and as JSON for programs.

// What `horizon plan --explain` adds.
struct PlanReasoning {
  std::vector<Alternative> alternatives;
  std::vector<Gain> free_changes;
  std::vector<Gain> purchases;
};

// What the answer of `horizon plan` is made from.
struct PlanReport {
  const ModelSpec& spec;
  const HardwareProfile& profile;
  const PlanAnswer& answer;
  const PlanReasoning* explained = nullptr;  // null unless it was requested
  double margin = 0;
  RunLength length;
};
std::string PlanReportText(const PlanReport& report);
// {"feasible", "runnable", "plan", "job", "proposals", "prediction": {"step_seconds",
//  "tokens_per_second", "model_tflops", "host_bytes", "pinned_bytes", "device_bytes", "lanes",
//  "stalls", "limits", "memory"}, "run", "save": {"bytes", "weights_bytes", "seconds", ...},
//  "strategies", "search", "alternatives", "free_changes" and "purchases"
//  [{"what", "options", "cost", "step_seconds", "tokens_per_second", "gain"}], "shortages",
//  "remedies"}. If the PCIe link of the
//  machine runs below its best, also "link_problem".
std::string PlanReportJson(const PlanReport& report);

// A prediction alone: the answer of `horizon simulate`, and a part of the reports above.
std::string PredictionText(const Prediction& prediction, const HardwareProfile& profile,
                           const RunLength& length = {});
void WritePrediction(const Prediction& prediction, JsonWriter& writer);

// Writes what each of the compared strategies would do: {"strategy", "step_seconds", "shortages"}.
void WriteStrategies(const SearchResult& search, JsonWriter& writer);
// The first lines of an answer: "START on MACHINE (what it is)\n", on two lines if one would be
// longer than 80 columns, and another line for the changes to the machine.
std::string AnswerHeading(std::string_view start, const HardwareProfile& profile);
// What a prediction rests on and how far such predictions have been off (prediction_basis.h), in
// lines of at most 80 columns: "the prediction rests on data sheets ...\n".
std::string BasisLines(const HardwareProfile& profile, Strategy strategy);
// Writes the same as the member "basis" of the JSON object that is open.
void WriteBasisOf(const HardwareProfile& profile, Strategy strategy, JsonWriter& writer);
// "limit: link (25 % more of it: a step 20 % shorter)\nnext: ...\n".
std::string LimitsText(const Prediction& prediction);

}  // namespace horizon
