#include "training/training_report.h"

#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "schedule/timeline/compare_timelines.h"

namespace horizon {
namespace {

// A figure of the run as a whole.
struct Row {
  std::string_view what;
  std::string_view key;
  Compared value;
  bool bytes = false;
};

std::vector<Row> RowsOf(const TrainingReport& report) {
  const Prediction& prediction = report.planned.prediction;
  const auto number = [](Bytes bytes) { return static_cast<double>(bytes); };
  return {{"step, seconds", "step_seconds", {prediction.step_seconds, report.summary.step_seconds}},
          {"tokens/s",
           "tokens_per_second",
           {prediction.tokens_per_second,
            static_cast<double>(report.summary.tokens_per_step) / report.summary.step_seconds}},
          {"host memory, peak",
           "host_bytes",
           {number(prediction.memory.host_bytes()), number(report.memory.peak_resident)},
           true},
          {"device arena",
           "device_bytes",
           {number(report.planned.arena_bytes), number(report.device_peak)},
           true}};
}

// Empty where no steady step was measured.
TimelineComparison Operations(const TrainingReport& report) {
  if (report.summary.durations.empty()) return {};
  return CompareDurations(report.schedule, report.planned.durations, report.summary.durations);
}

// How far what was measured is from the prediction; what was predicted to take nothing has no
// error.
std::string Error(const Compared& value) {
  return value.predicted > 0 ? ShortPercentChange(value.measured / value.predicted - 1) : "-";
}

void WriteCompared(const Compared& value, JsonWriter& json) {
  json.Key("predicted").Number(value.predicted).Key("measured").Number(value.measured);
  json.Key("error");
  if (value.predicted > 0) {
    json.Number(value.measured / value.predicted - 1);
  } else {
    json.Null();
  }
}

void WriteOperations(const TimelineComparison& operations, JsonWriter& json) {
  json.Key("lanes").BeginArray();
  for (const LaneComparison& lane : operations.lanes) {
    json.BeginObject().Key("lane").String(ToString(lane.lane));
    json.Key("operations").Integer(lane.operations);
    WriteCompared(lane.busy, json);
    json.EndObject();
  }
  json.EndArray().Key("kinds").BeginArray();
  for (const KindComparison& kind : operations.kinds) {
    json.BeginObject().Key("kind").String(ToString(kind.kind));
    json.Key("lane").String(ToString(kind.lane)).Key("operations").Integer(kind.operations);
    WriteCompared(kind.seconds, json);
    json.EndObject();
  }
  json.EndArray().Key("missed_most").BeginArray();
  for (const OperationComparison& miss : operations.misses) {
    json.BeginObject().Key("operation").String(miss.name).Key("lane").String(ToString(miss.lane));
    WriteCompared(miss.seconds, json);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string TrainingReport::Text() const {
  TextTable table({"", "predicted", "measured", "error"});
  for (const Row& row : RowsOf(*this)) {
    const auto show = [&](double value) {
      return row.bytes ? BytesText(static_cast<uint64_t>(value)) : ShortNumber(value);
    };
    table.AddRow({std::string(row.what), show(row.value.predicted), show(row.value.measured),
                  Error(row.value)});
    if (row.key == "step_seconds" && speed.has_value()) {
      const Compared during{speed->predicted_step_seconds, summary.step_seconds};
      table.AddRow({"step, at the machine's speed meanwhile", ShortNumber(during.predicted),
                    ShortNumber(during.measured), Error(during)});
    }
  }
  const TimelineComparison operations = Operations(*this);
  const auto add = [&](const std::string& what, const Compared& value) {
    table.AddRow({what, ShortNumber(value.predicted), ShortNumber(value.measured), Error(value)});
  };
  if (!operations.lanes.empty()) table.AddRule();
  for (const LaneComparison& lane : operations.lanes) {
    add(StrCat("lane ", std::string(ToString(lane.lane)), ", busy seconds"), lane.busy);
  }
  if (!operations.misses.empty()) table.AddRule();
  for (const OperationComparison& miss : operations.misses) add(miss.name, miss.seconds);
  std::string text =
      StrCat("trained ", summary.steps, " steps, loss ", ShortNumber(summary.first_loss), " -> ",
             ShortNumber(summary.last_loss), ", ", ShortNumber(summary.epoch),
             summary.epoch == 1 ? " epoch" : " epochs");
  if (summary.trained_tokens.has_value()) {
    text +=
        StrCat(", ", WithCommas(static_cast<uint64_t>(*summary.trained_tokens)), " tokens trained");
  }
  if (summary.skipped > 0) text += StrCat(", ", summary.skipped, " skipped");
  if (summary.evaluation.has_value()) {
    text += StrCat("\nheld-out loss ", ShortNumber(summary.evaluation->loss()), ", perplexity ",
                   ShortNumber(summary.evaluation->perplexity()));
  }
  text += StrCat("\n\n", std::move(table).Finish());
  if (speed.has_value()) {
    text +=
        StrCat("\nspeed:    after the run this machine computes at ", Percent(speed->change.gemm),
               " of its speed before, its memory is at ", Percent(speed->change.memory));
  }
  if (saving.saves > 0) {
    text += StrCat("\nsaves:    ", saving.saves, ", ", ToString(saving.bytes), " in ",
                   ShortNumber(saving.seconds), " s, updates waited ", ShortNumber(saving.waited),
                   " s for them");
    if (saving.failed > 0) text += StrCat(", ", saving.failed, " failed");
  }
  return StrCat(text, "\nmodel:    ", folder, "/model\nmetrics:  ", folder,
                "/metrics.jsonl\ntimeline: ", folder,
                "/timeline.json (open it in ui.perfetto.dev)\n");
}

std::string TrainingReport::Json() const {
  JsonWriter json;
  json.BeginObject();
  json.Key("steps").Integer(summary.steps).Key("skipped").Integer(summary.skipped);
  json.Key("interrupted").Bool(summary.interrupted).Key("epoch").Number(summary.epoch);
  if (summary.trained_tokens.has_value()) {
    json.Key("trained_tokens").Integer(*summary.trained_tokens);
  }
  json.Key("first_loss").Number(summary.first_loss).Key("last_loss").Number(summary.last_loss);
  if (summary.evaluation.has_value()) {
    json.Key("evaluation").BeginObject();
    json.Key("loss").Number(summary.evaluation->loss());
    json.Key("perplexity").Number(summary.evaluation->perplexity());
    json.Key("tokens").Integer(summary.evaluation->counted).EndObject();
  }
  for (const Row& row : RowsOf(*this)) {
    json.Key(row.key).BeginObject();
    WriteCompared(row.value, json);
    json.EndObject();
  }
  if (speed.has_value()) {
    json.Key("speed_change").BeginObject().Key("products").Number(speed->change.gemm);
    json.Key("memory").Number(speed->change.memory).EndObject();
    json.Key("step_seconds_at_speed").BeginObject();
    WriteCompared({speed->predicted_step_seconds, summary.step_seconds}, json);
    json.EndObject();
  }
  WriteOperations(Operations(*this), json);
  json.Key("strategy").String(ToString(schedule.plan.strategy));
  json.Key("machine").String(planned.profile.name);
  json.Key("limits").BeginArray();
  for (const RunLimit& limit : planned.prediction.limits) {
    json.String(ToString(limit));
  }
  json.EndArray();
  json.Key("saving").BeginObject();
  json.Key("saves").Integer(saving.saves).Key("failed").Integer(saving.failed);
  json.Key("bytes").Unsigned(saving.bytes).Key("seconds").Number(saving.seconds);
  json.Key("waited_seconds").Number(saving.waited).EndObject();
  json.Key("model");
  if (exported) {
    json.String(folder + "/model");
  } else {
    json.Null();
  }
  json.Key("metrics").String(folder + "/metrics.jsonl");
  json.Key("timeline").String(folder + "/timeline.json").EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
