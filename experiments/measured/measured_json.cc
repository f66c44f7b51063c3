#include "experiments/measured/measured_json.h"

#include <optional>
#include <string_view>
#include <utility>

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

void WritePercent(JsonWriter& json, std::string_view key, const std::optional<double>& share) {
  WriteNumber(json, key, share.has_value() ? std::optional(100 * *share) : std::nullopt);
}

void WriteFit(JsonWriter& json, std::string_view key, const LineFit& fit) {
  json.Key(key).BeginObject().Key("bytes_per_parameter").Number(fit.slope);
  json.Key("bytes").Number(fit.intercept).Key("r_squared").Number(fit.r_squared).EndObject();
}

void WriteRow(JsonWriter& json, const MeasuredExperiment& experiment, const MeasuredRow& row) {
  json.BeginObject().Key("run").String(row.config.name);
  json.Key("parameters").Unsigned(row.parameters).Key("tokens").Integer(row.tokens());
  WriteNumber(json, "link_bytes_per_second",
              row.link.has_value() ? std::optional(row.link->value) : std::nullopt);
  json.Key("operations").Integer(row.operations);
  json.Key("h2d_bytes").Unsigned(row.h2d_bytes).Key("d2h_bytes").Unsigned(row.d2h_bytes);
  json.Key("simulated").BeginObject();
  json.Key("step_seconds").Number(row.simulated_seconds);
  json.Key("gflops").Number(row.GflopsAt(row.simulated_seconds));
  json.Key("host_bytes").Unsigned(row.simulated_host_bytes);
  json.Key("device_bytes").Unsigned(row.arena_bytes).EndObject();
  json.Key("measured").BeginObject();
  json.Key("step_seconds").Number(row.seconds);
  json.Key("gflops").Number(row.GflopsAt(row.seconds));
  json.Key("host_bytes").Unsigned(row.host_bytes);
  json.Key("device_bytes").Unsigned(row.device_bytes);
  json.Key("rounds").BeginArray();
  for (const double seconds : row.round_seconds) json.Number(seconds);
  json.EndArray().Key("raw_rounds").BeginArray();
  for (const double seconds : row.raw_seconds) json.Number(seconds);
  json.EndArray().Key("losses").BeginArray();
  for (const double loss : row.losses) json.Number(loss);
  json.EndArray().EndObject();
  json.Key("step_error_percent").Number(100 * row.step_error());
  json.Key("host_error_percent").Number(100 * row.host_error());
  json.Key("compared_with").String(row.config.compared_with);
  json.Key("change_percent").BeginObject();
  WritePercent(json, "simulated", experiment.SimulatedChange(row));
  WritePercent(json, "measured", experiment.MeasuredChange(row));
  WritePercent(json, "published", experiment.PublishedChange(row));
  json.EndObject();
  const MeasuredRow* twin = experiment.Find(row.config.losses_as);
  json.Key("losses_as").String(row.config.losses_as);
  if (twin != nullptr) json.Key("losses_equal").Bool(twin->losses == row.losses);
  json.EndObject();
}

}  // namespace

void WriteMeasured(std::span<const MeasuredExperiment> experiments, JsonWriter& json) {
  json.BeginArray();
  for (const MeasuredExperiment& experiment : experiments) {
    const MeasuredConfig& config = experiment.config;
    json.BeginObject().Key("name").String(config.name).Key("title").String(config.title);
    json.Key("steps").Integer(config.steps).Key("rounds").Integer(config.rounds);
    WriteNumber(json, "load_to_compute", config.load_to_compute);
    json.Key("link_reason").String(config.link_reason);
    json.Key("median_error_percent").Number(100 * experiment.median_error());
    json.Key("worst_error_percent").Number(100 * experiment.worst_error());
    json.Key("violations").BeginArray();
    for (const std::string& violation : experiment.Violations()) json.String(violation);
    json.EndArray().Key("host_lines").BeginArray();
    for (const HostLine& line : experiment.HostLines()) {
      json.BeginObject().Key("line").String(line.line);
      WriteFit(json, "simulated", line.simulated);
      WriteFit(json, "measured", line.measured);
      json.EndObject();
    }
    json.EndArray().Key("rows").BeginArray();
    for (const MeasuredRow& row : experiment.rows) WriteRow(json, experiment, row);
    json.EndArray().EndObject();
  }
  json.EndArray();
}

std::string MeasuredJson(const MeasuredHalf& half) {
  JsonWriter json;
  json.BeginObject().Key("machine").String(half.machine).Key("measured");
  WriteMeasured(half.experiments, json);
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
