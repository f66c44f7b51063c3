#include "app/training_report.h"

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json.h"
#include "common/str_cat.h"
#include "common/text_table.h"
#include "common/units.h"
#include "planner/plan_report.h"

namespace horizon {
namespace {

std::string Percent(double share) {
  return StrCat(share < 0 ? "-" : "+", ShortNumber(std::abs(share) * 100), " %");
}

// What was predicted beside what was measured.
struct Compared {
  std::string_view what;
  std::string_view key;
  double predicted = 0;
  double measured = 0;
  bool bytes = false;
};

std::vector<Compared> RowsOf(const TrainingReport& report) {
  const Prediction& prediction = report.planned.prediction;
  return {{"step, seconds", "step_seconds", prediction.step_seconds, report.summary.step_seconds},
          {"tokens/s", "tokens_per_second", prediction.tokens_per_second,
           static_cast<double>(report.summary.tokens_per_step) / report.summary.step_seconds},
          {"host memory, peak", "host_bytes", static_cast<double>(prediction.memory.host_bytes()),
           static_cast<double>(report.memory.peak_resident.value()), true},
          {"device arena", "device_bytes", static_cast<double>(report.planned.arena_bytes),
           static_cast<double>(report.device_peak), true}};
}

}  // namespace

std::string TrainingReport::Text() const {
  TextTable table({"", "predicted", "measured", "error"});
  for (const Compared& row : RowsOf(*this)) {
    const auto show = [&](double value) {
      return row.bytes ? ToString(Bytes(CheckedU64(static_cast<uint64_t>(value))))
                       : ShortNumber(value);
    };
    table.AddRow({std::string(row.what), show(row.predicted), show(row.measured),
                  Percent(row.measured / row.predicted - 1)});
  }
  std::string text =
      StrCat("trained ", summary.steps, " steps, loss ", ShortNumber(summary.first_loss), " -> ",
             ShortNumber(summary.last_loss));
  if (summary.skipped > 0) text += StrCat(", ", summary.skipped, " skipped");
  if (summary.evaluation.has_value()) {
    text += StrCat("\nheld-out loss ", ShortNumber(summary.evaluation->loss()), ", perplexity ",
                   ShortNumber(summary.evaluation->perplexity()));
  }
  text += StrCat("\n\n", std::move(table).Finish());
  if (saving.saves > 0) {
    text += StrCat("\nsaves:    ", saving.saves, ", ", ToString(Bytes(CheckedU64(saving.bytes))),
                   " in ", ShortNumber(saving.seconds), " s, updates waited ",
                   ShortNumber(saving.waited), " s for them");
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
  json.Key("interrupted").Bool(summary.interrupted);
  json.Key("first_loss").Number(summary.first_loss).Key("last_loss").Number(summary.last_loss);
  if (summary.evaluation.has_value()) {
    json.Key("evaluation").BeginObject();
    json.Key("loss").Number(summary.evaluation->loss());
    json.Key("perplexity").Number(summary.evaluation->perplexity());
    json.Key("tokens").Integer(summary.evaluation->counted).EndObject();
  }
  for (const Compared& row : RowsOf(*this)) {
    json.Key(row.key).BeginObject();
    json.Key("predicted").Number(row.predicted).Key("measured").Number(row.measured).EndObject();
  }
  json.Key("saving").BeginObject();
  json.Key("saves").Integer(saving.saves).Key("failed").Integer(saving.failed);
  json.Key("bytes").Unsigned(saving.bytes).Key("seconds").Number(saving.seconds);
  json.Key("waited_seconds").Number(saving.waited).EndObject();
  json.Key("model").String(folder + "/model").Key("metrics").String(folder + "/metrics.jsonl");
  json.Key("timeline").String(folder + "/timeline.json").EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
