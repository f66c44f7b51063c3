#include "planner/sweep_plan.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/documents/json.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "planner/find_limits.h"
#include "planner/plan_report.h"

namespace horizon {
namespace {

constexpr int64_t kFirstSequence = 256;
constexpr int64_t kLargestBatch = 4096;

absl::Status BadSweep(std::string_view text) {
  return absl::InvalidArgumentError(
      StrCat("--sweep needs batch, sequence, or values of one of them such as batch=1,2,4; found ",
             Quoted(std::string(text))));
}

// The values that are tried unasked; what comes after one that does not fit is not.
std::vector<int64_t> Doubled(const ModelSpec& spec, SweepField field) {
  const bool batch = field == SweepField::kBatch;
  const int64_t most = batch ? kLargestBatch : spec.max_positions;
  std::vector<int64_t> values;
  for (int64_t value = batch ? 1 : std::min(kFirstSequence, most); value <= most; value *= 2) {
    values.push_back(value);
  }
  return values;
}

SweptPlan PlanWith(PlanRequest request, SweepField field, int64_t value) {
  (field == SweepField::kBatch ? request.job.micro_batch : request.job.sequence) = value;
  if (field == SweepField::kBatch) request.propose_batch = false;
  request.effort = SearchEffort::kQuick;
  SweptPlan swept{.value = value};
  absl::StatusOr<PlanAnswer> answer = MakePlan(request);
  if (!answer.ok()) {
    swept.refused = answer.status();
    return swept;
  }
  swept.answer = *std::move(answer);
  if (swept.answer.feasible) {
    swept.answer.search.prediction.limits = FindLimits(request, swept.answer);
  }
  swept.answer.search.simulation.reset();  // there may be many
  return swept;
}

}  // namespace

std::string_view ToString(SweepField field) {
  return field == SweepField::kBatch ? "batch" : "sequence";
}

absl::StatusOr<Sweep> ParseSweep(std::string_view text) {
  Sweep sweep;
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name != "batch" && name != "sequence") return BadSweep(text);
  sweep.field = name == "batch" ? SweepField::kBatch : SweepField::kSequence;
  if (equals == std::string_view::npos) return sweep;
  const std::string list(text.substr(equals + 1));
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(list, ','))) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_number = error == std::errc() && end == word.data() + word.size();
    if (!is_number || value < 1 || value > int64_t{1} << 20) return BadSweep(text);
    sweep.values.push_back(value);
  }
  return sweep;
}

std::vector<SweptPlan> SweepPlan(const PlanRequest& request, const Sweep& sweep) {
  const bool all = !sweep.values.empty();
  std::vector<SweptPlan> plans;
  for (const int64_t value : all ? sweep.values : Doubled(request.spec, sweep.field)) {
    plans.push_back(PlanWith(request, sweep.field, value));
    if (!all && !plans.back().answer.feasible) break;
  }
  return plans;
}

std::string SweepText(const Sweep& sweep, const std::vector<SweptPlan>& plans) {
  TextTable table({std::string(ToString(sweep.field)), "step", "tokens/s", "host", "device",
                   "strategy", "limit"});
  std::string lacking;
  for (const SweptPlan& one : plans) {
    const std::string value = StrCat(one.value);
    if (!one.answer.feasible) {
      table.AddRow({value, one.refused.ok() ? "does not fit" : "not possible", "", "", "", "", ""});
      if (!one.refused.ok())
        lacking += StrCat(value, ": ", std::string(one.refused.message()), "\n");
      for (const std::string& line : DescribeShortages(one.answer.search.shortages)) {
        lacking += StrCat(value, ": ", line, "\n");
      }
      continue;
    }
    const Prediction& prediction = one.answer.search.prediction;
    table.AddRow({value, ToString(Seconds{prediction.step_seconds}),
                  ShortNumber(prediction.tokens_per_second),
                  ToString(prediction.memory.host_bytes()),
                  ToString(prediction.memory.device_bytes()),
                  std::string(ToString(one.answer.search.plan->strategy)),
                  prediction.limits.empty() ? "none" : prediction.limits.front().what});
  }
  return StrCat(std::move(table).Finish(), lacking.empty() ? "" : "\n", lacking);
}

std::string SweepJson(const Sweep& sweep, const std::vector<SweptPlan>& plans) {
  JsonWriter writer;
  writer.BeginObject().Key("sweep").String(ToString(sweep.field)).Key("values").BeginArray();
  for (const SweptPlan& one : plans) {
    writer.BeginObject().Key("value").Integer(one.value);
    writer.Key("feasible").Bool(one.answer.feasible);
    if (!one.refused.ok()) writer.Key("refused").String(std::string(one.refused.message()));
    if (one.answer.feasible) {
      writer.Key("job");
      WriteJob(one.answer.job, writer);
      writer.Key("plan");
      WritePlan(*one.answer.search.plan, writer);
      writer.Key("prediction");
      WritePrediction(one.answer.search.prediction, writer);
    }
    writer.Key("shortages").BeginArray();
    for (const std::string& line : DescribeShortages(one.answer.search.shortages)) {
      if (!one.answer.feasible) writer.String(line);
    }
    writer.EndArray().EndObject();
  }
  writer.EndArray().EndObject();
  return std::move(writer).Finish();
}

}  // namespace horizon
