#include "experiments/experiment.h"

#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/agreement.h"
#include "experiments/experiment_data.h"
#include "presentation/csv.h"

namespace horizon {
namespace {

constexpr EnumWord<ChartKind> kChartWords[] = {{ChartKind::kLines, "lines"},
                                               {ChartKind::kBars, "bars"}};
constexpr EnumWord<ChartX> kChartXWords[] = {{ChartX::kLayers, "layers"},
                                             {ChartX::kHidden, "hidden"},
                                             {ChartX::kSequence, "sequence"},
                                             {ChartX::kRow, "row"}};

void ReadPercent(ObjectReader& reader, std::string_view key, std::optional<double>& out) {
  if (reader.Take(key) == nullptr) return;
  double percent = 0;
  reader.Required(key, &percent);
  if (reader.ok() && !(percent >= 0)) reader.Fail(key, "needs a percentage of at least 0");
  if (reader.ok() && percent > 100 * kCloseWithin) {
    reader.Fail(key, StrCat("needs at most ", 100 * kCloseWithin,
                            " %; list rows that are further off under 'misses', with a reason"));
  }
  out = percent;
}

absl::Status ReadChart(const Document& document, const Value& value, const std::string& path,
                       ChartSpec& chart) {
  ObjectReader reader(document, value, path);
  RecordReader read(reader);
  read("kind", chart.kind, {.presence = FieldPresence::kRequired});
  read("x", chart.x, {});
  read("metric", chart.metric, {});
  read("x_label", chart.x_label, {});
  read("y_label", chart.y_label, {});
  return reader.Finish();
}

absl::Status ReadCharts(const Document& document, const Value& value,
                        std::vector<ChartSpec>& charts) {
  const Value::Array* list = value.As<Value::Array>();
  if (list == nullptr) return ErrorAt(document, value, "charts", "needs an array");
  for (size_t i = 0; i < list->size(); ++i) {
    RETURN_IF_ERROR(
        ReadChart(document, (*list)[i], StrCat("charts[", i, "]"), charts.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status ReadBounds(const Document& document, const Value& value, ErrorBounds& bounds) {
  ObjectReader reader(document, value, "bounds");
  ReadPercent(reader, "mean_percent", bounds.mean);
  ReadPercent(reader, "worst_percent", bounds.worst);
  ReadPercent(reader, "system_mean_percent", bounds.system_mean);
  ReadPercent(reader, "system_worst_percent", bounds.system_worst);
  ReadPercent(reader, "worst_other_percent", bounds.worst_other);
  ReadPercent(reader, "host_worst_percent", bounds.host_worst);
  reader.Optional("wrong_status", &bounds.wrong_status);
  return reader.Finish();
}

absl::Status ReadMisses(const Document& document, const Value& value,
                        std::vector<KnownMiss>& misses) {
  const Value::Array* list = value.As<Value::Array>();
  if (list == nullptr) return ErrorAt(document, value, "misses", "needs an array");
  for (size_t i = 0; i < list->size(); ++i) {
    KnownMiss& miss = misses.emplace_back();
    ObjectReader reader(document, (*list)[i], StrCat("misses[", i, "]"));
    reader.Required("rows", &miss.rows);
    reader.Required("worst_percent", &miss.worst);
    reader.Required("reason", &miss.reason);
    if (reader.ok() && miss.reason.empty()) reader.Fail("reason", "needs a text");
    RETURN_IF_ERROR(reader.Finish());
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const EnumWord<ChartKind>> WordsOf(ChartKind) { return kChartWords; }
std::span<const EnumWord<ChartX>> WordsOf(ChartX) { return kChartXWords; }

absl::StatusOr<Experiment> ReadExperiment(std::string_view name, std::string_view config,
                                          std::string_view published) {
  const std::string folder = StrCat("experiments/", name, "/");
  Experiment experiment{.name = std::string(name)};
  ASSIGN_OR_RETURN(const Document document, ParseJson(folder + "config.json", config));
  ObjectReader reader(document, document.root);
  reader.Required("title", &experiment.title);
  reader.Required("summary", &experiment.summary);
  reader.Optional("remarks", &experiment.remarks);
  reader.Optional("largest_models", &experiment.largest_models);
  if (const Value* value = reader.Take("charts")) {
    RETURN_IF_ERROR(ReadCharts(document, *value, experiment.charts));
  }
  if (const Value* value = reader.Take("bounds")) {
    RETURN_IF_ERROR(ReadBounds(document, *value, experiment.bounds));
  }
  if (const Value* value = reader.Take("misses")) {
    RETURN_IF_ERROR(ReadMisses(document, *value, experiment.bounds.misses));
  }
  RETURN_IF_ERROR(reader.Finish());
  ASSIGN_OR_RETURN(const CsvTable table, ParseCsv(folder + "published.csv", published));
  ASSIGN_OR_RETURN(experiment.rows, ReadPublishedRows(table));
  return experiment;
}

std::vector<std::string> ExperimentNames() {
  std::vector<std::string> names;
  for (const ExperimentFiles& files : ExperimentData()) names.emplace_back(files.name);
  return names;
}

absl::StatusOr<std::vector<Experiment>> LoadExperiments() {
  std::vector<Experiment> experiments;
  for (const ExperimentFiles& files : ExperimentData()) {
    ASSIGN_OR_RETURN(Experiment experiment,
                     ReadExperiment(files.name, files.config, files.published));
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

}  // namespace horizon
