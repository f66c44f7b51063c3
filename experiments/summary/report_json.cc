#include "experiments/summary/report_json.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "experiments/measured/measured_json.h"
#include "experiments/summary/summary_rows.h"

namespace horizon {
namespace {

void WriteNumber(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.Key(key);
  if (value.has_value()) {
    json.Number(*value);
  } else {
    json.Null();
  }
}

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

void WriteStatistics(JsonWriter& json, std::string_view key, const ErrorStatistics& statistics) {
  json.Key(key).BeginObject();
  json.Key("rows").Integer(statistics.rows);
  json.Key("mean_percent").Number(100 * statistics.mean);
  json.Key("worst_percent").Number(100 * statistics.worst);
  json.Key("worst_row").String(statistics.worst_row);
  json.EndObject();
}

void WriteSummary(JsonWriter& json, const ExperimentSummary& summary) {
  json.Key("summary").BeginObject();
  WriteStatistics(json, "sound", summary.sound);
  WriteStatistics(json, "megatrain", summary.system);
  WriteStatistics(json, "host", summary.host);
  WriteStatistics(json, "tier_b", summary.other);
  WriteStatistics(json, "fitted", summary.fitted);
  WriteTexts(json, "wrong_status", summary.wrong_status);
  WriteTexts(json, "over_memory", summary.over_memory);
  WriteTexts(json, "violations", summary.violations);
  json.EndObject();
}

void WriteSimulated(JsonWriter& json, const RowResult& result) {
  const Prediction& prediction = result.prediction;
  json.Key("batch").Integer(result.batch);
  WriteNumber(json, "simulated", result.simulated);
  const std::optional<double> error = ErrorOf(result);
  WriteNumber(json, "error_percent",
              error.has_value() ? std::optional(100 * *error) : std::nullopt);
  json.Key("fits").Bool(result.fits);
  json.Key("step_seconds").Number(prediction.step_seconds);
  json.Key("tokens_per_second").Number(prediction.tokens_per_second);
  json.Key("host_bytes").Unsigned(prediction.memory.host_bytes());
  json.Key("device_bytes").Unsigned(prediction.memory.device_bytes());
}

void WriteHorizon(JsonWriter& json, const std::vector<HorizonRun>& runs) {
  json.Key("horizon").BeginArray();
  for (const HorizonRun& run : runs) {
    json.BeginObject();
    json.Key("state_format").String(ToString(run.state_format));
    json.Key("fits").Bool(run.fits);
    if (run.fits) {
      json.Key("step_seconds").Number(run.prediction.step_seconds);
      json.Key("tokens_per_second").Number(run.prediction.tokens_per_second);
      json.Key("model_tflops").Number(run.prediction.model_tflops);
      json.Key("host_bytes").Unsigned(run.prediction.memory.host_bytes());
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteRow(JsonWriter& json, const ComparedRow& compared) {
  const PublishedRow& row = compared.result.row;
  json.BeginObject();
  json.Key("id").String(row.id);
  json.Key("system").String(row.system);
  json.Key("machine").String(row.machine);
  json.Key("model").String(row.model);
  json.Key("sequence").Integer(row.sequence);
  json.Key("metric").String(ToString(row.metric));
  WriteNumber(json, "published", row.published);
  json.Key("lower_bound").Bool(row.lower_bound);
  json.Key("published_status").String(ToString(row.status));
  json.Key("tier").String(ToString(row.tier));
  json.Key("use").String(ToString(row.use));
  json.Key("how").String(compared.is_simulated ? "simulated" : "not simulated");
  if (compared.is_simulated) {
    WriteSimulated(json, compared.result);
    WriteHorizon(json, compared.horizon);
  }
  json.Key("note").String(row.note);
  json.EndObject();
}

void WriteSized(JsonWriter& json, std::string_view key, const std::optional<SizedModel>& model) {
  json.Key(key);
  if (!model.has_value()) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("name").String(model->name);
  json.Key("layers").Integer(model->layers);
  json.Key("parameters").Unsigned(model->parameters);
  json.Key("batch").Integer(model->answer.job.micro_batch);
  json.Key("tokens_per_second").Number(model->answer.search.prediction.tokens_per_second);
  json.EndObject();
}

void WriteLargest(JsonWriter& json, const std::vector<MachineLargest>& machines) {
  json.Key("machines").BeginArray();
  for (const MachineLargest& entry : machines) {
    json.BeginObject();
    json.Key("machine").String(entry.machine);
    json.Key("state_format").String(ToString(entry.state_format));
    WriteSized(json, "by_depth", entry.models.by_depth);
    WriteSized(json, "by_size", entry.models.by_size);
    json.Key("limit").String(entry.models.limit);
    json.EndObject();
  }
  json.EndArray();
}

void WriteMissed(JsonWriter& json, const ExperimentRun& run) {
  json.Key("missed").BeginArray();
  for (const MissedRow& missed : run.summary.missed) {
    const PublishedRow& row = run.rows[missed.row].result.row;
    json.BeginObject();
    json.Key("row").String(RowTitle(row)).Key("system").String(SystemTitle(row.system));
    json.Key("metric").String(ToString(row.metric));
    json.Key("error_percent").Number(100 * missed.error);
    json.Key("reason").String(missed.reason).EndObject();
  }
  json.EndArray();
}

void WriteRun(JsonWriter& json, const ExperimentRun& run) {
  json.BeginObject();
  json.Key("name").String(run.experiment.name);
  json.Key("title").String(run.experiment.title);
  json.Key("verdict").String(SummaryRows(std::span(&run, 1)).front().verdict);
  WriteSummary(json, run.summary);
  WriteMissed(json, run);
  json.Key("rows").BeginArray();
  for (const ComparedRow& row : run.rows) WriteRow(json, row);
  json.EndArray();
  if (!run.largest.empty()) WriteLargest(json, run.largest);
  WriteTexts(json, "remarks", run.experiment.remarks);
  json.EndObject();
}

void WriteClaim(JsonWriter& json, const Claim& claim) {
  json.BeginObject();
  json.Key("claim").String(claim.what);
  json.Key("claimed").String(claim.claimed);
  json.Key("simulated").String(claim.simulated);
  WriteNumber(json, "error_percent",
              claim.error.has_value() ? std::optional(100 * *claim.error) : std::nullopt);
  json.Key("error").String(claim.error_text);
  json.Key("verdict").String(VerdictOf(claim));
  json.Key("rows").String(claim.source);
  json.Key("note").String(claim.note);
  json.EndObject();
}

}  // namespace

std::string ReportJson(std::span<const ExperimentRun> runs, std::span<const Claim> claims,
                       const std::string& report, const MeasuredHalf& measured) {
  std::vector<std::string> violations = ViolationsOf(runs);
  for (std::string& violation : measured.Violations()) violations.push_back(std::move(violation));
  JsonWriter json;
  json.BeginObject();
  json.Key("report").String(report);
  const ClaimCounts counts = CountClaims(claims);
  json.Key("verdict").BeginObject();
  json.Key("claims_holding").Integer(counts.holding).Key("claims_close").Integer(counts.close);
  json.Key("claims_missed").Integer(counts.missing).Key("claims_fitted").Integer(counts.fitted);
  const ExperimentSummary all = SummarizeAll(runs);
  json.Key("rows_holding").Integer(all.holding).Key("rows_close").Integer(all.close);
  json.Key("rows_missed").Integer(static_cast<int64_t>(all.missed.size())).EndObject();
  WriteTexts(json, "violations", violations);
  json.Key("experiments").BeginArray();
  for (const ExperimentRun& run : runs) WriteRun(json, run);
  json.EndArray().Key("claims").BeginArray();
  for (const Claim& claim : claims) WriteClaim(json, claim);
  json.EndArray();
  if (!measured.experiments.empty()) {
    json.Key("machine").String(measured.machine).Key("measured");
    WriteMeasured(measured.experiments, json);
  }
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
