#include "experiments/summary/report_charts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/text/str_cat.h"
#include "presentation/bar_chart.h"
#include "presentation/bar_list.h"
#include "presentation/plot.h"

namespace horizon {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::string_view kPublishedSystem = "megatrain";

double ValueOf(Metric metric, const Prediction& prediction, double host_gib) {
  switch (metric) {
    case Metric::kTflops:
      return prediction.model_tflops;
    case Metric::kTokensPerSecond:
      return prediction.tokens_per_second;
    case Metric::kStepSeconds:
      return prediction.step_seconds;
    case Metric::kHostGib:
      return host_gib;
    case Metric::kStatus:
      break;
  }
  return 0;
}

double SimulatedValue(Metric metric, const RowResult& result) {
  return ValueOf(metric, result.prediction, result.sampled_host_gib);
}

// The published figure in the chart's unit: time and rates of one run convert into each other
// exactly. Nothing where there is none, or the row is ignored.
std::optional<double> PublishedValue(Metric metric, const ComparedRow& compared) {
  const RowResult& result = compared.result;
  const PublishedRow& row = result.row;
  const bool ran = row.status == RunStatus::kOk || metric == Metric::kHostGib;
  if (row.use == RowUse::kIgnored || !ran || !row.published.has_value()) return std::nullopt;
  if (row.metric == metric) return row.published;
  if (!compared.is_simulated) return std::nullopt;
  const double ours = SimulatedValue(row.metric, result);
  const double wanted = SimulatedValue(metric, result);
  const bool inverse = (row.metric == Metric::kStepSeconds) != (metric == Metric::kStepSeconds);
  return inverse ? wanted * ours / *row.published : wanted / ours * *row.published;
}

std::optional<double> HorizonChartValue(Metric metric, const ComparedRow& compared) {
  if (compared.horizon.empty() || !compared.horizon.front().fits) return std::nullopt;
  const Prediction& prediction = compared.horizon.front().prediction;
  return ValueOf(metric, prediction, static_cast<double>(prediction.memory.host_bytes()) / kGib);
}

// Host figures and speeds are different charts; a statement that a run ends belongs to both.
bool BelongsTo(Metric metric, const PublishedRow& row) {
  if (row.metric == Metric::kStatus) return true;
  return (row.metric == Metric::kHostGib) == (metric == Metric::kHostGib);
}

// What all names begin with, up to the last '-' of it: "qwen2.5-".
std::string CommonPrefix(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string_view prefix = names.front();
  for (const std::string& name : names) {
    size_t same = 0;
    while (same < prefix.size() && same < name.size() && prefix[same] == name[same]) ++same;
    prefix = prefix.substr(0, same);
  }
  const size_t dash = prefix.rfind('-');
  return dash == std::string_view::npos ? "" : std::string(prefix.substr(0, dash + 1));
}

std::string ShortSystem(const std::string& system) {
  constexpr std::string_view kSuffix = " offload";
  std::string title = SystemTitle(system);
  if (title.ends_with(kSuffix)) title.resize(title.size() - kSuffix.size());
  return title;
}

Bar PublishedBar(Metric metric, const ComparedRow& compared) {
  const std::optional<double> value = PublishedValue(metric, compared);
  const bool out = compared.result.row.status == RunStatus::kOutOfMemory;
  return {.value = value, .missing = !value.has_value() && out ? "OOM" : ""};
}

// A baseline that does not fit has no speed; the published system is timed all the same, and host
// memory is known either way.
bool HasSimulatedValue(Metric metric, const ComparedRow& compared) {
  return compared.is_simulated &&
         (compared.result.fits || metric == Metric::kHostGib || IsOverOurMemory(compared));
}

Bar SimulatedBar(Metric metric, const ComparedRow& compared) {
  if (!compared.is_simulated) return {};
  if (!HasSimulatedValue(metric, compared)) return {.missing = "OOM"};
  return {.value = SimulatedValue(metric, compared.result)};
}

Bar HorizonBar(Metric metric, const ComparedRow& compared) {
  const std::optional<double> value = HorizonChartValue(metric, compared);
  return {.value = value, .missing = !value.has_value() && !compared.horizon.empty() ? "OOM" : ""};
}

// An experiment's second chart says what it is about.
std::string TitleOf(const ExperimentRun& run, const ChartSpec& spec) {
  const bool is_first = &spec == &run.experiment.charts.front();
  return is_first ? run.experiment.title : StrCat(run.experiment.title, ": ", spec.y_label);
}

void DrawBars(const ExperimentRun& run, const ChartSpec& spec, ReportChart& drawn) {
  std::vector<const ComparedRow*> rows;
  std::vector<std::string> ids;
  for (const ComparedRow& compared : run.rows) {
    const PublishedRow& row = compared.result.row;
    if (row.use == RowUse::kIgnored || !compared.is_simulated || !BelongsTo(spec.metric, row)) {
      continue;
    }
    rows.push_back(&compared);
    ids.push_back(row.id);
  }
  const std::string prefix = CommonPrefix(ids);
  BarChart chart{
      .title = TitleOf(run, spec),
      .x_label = prefix.empty() ? spec.x_label : StrCat(spec.x_label, " (", prefix, "...)"),
      .y_label = spec.y_label,
      .series = {{.name = "published"}, {.name = "simulated"}, {.name = "horizon"}}};
  for (const ComparedRow* compared : rows) {
    const PublishedRow& row = compared->result.row;
    const std::string id = RowTitle(row).substr(prefix.size());
    // The paper's own system needs no name in its own charts.
    chart.categories.push_back(
        row.system == kPublishedSystem ? id : StrCat(id, " ", ShortSystem(row.system)));
    chart.series[0].bars.push_back(PublishedBar(spec.metric, *compared));
    chart.series[1].bars.push_back(SimulatedBar(spec.metric, *compared));
    chart.series[2].bars.push_back(HorizonBar(spec.metric, *compared));
  }
  drawn.svg = DrawSvg(chart);
  drawn.narrow_svg = DrawBarList(chart);
}

double XOf(ChartX x, const PublishedRow& row, size_t index) {
  switch (x) {
    case ChartX::kLayers:
      return static_cast<double>(row.layers.value_or(0));
    case ChartX::kHidden:
      return static_cast<double>(row.hidden.value_or(0));
    case ChartX::kSequence:
      return static_cast<double>(row.sequence);
    case ChartX::kRow:
      break;
  }
  return static_cast<double>(index);
}

// All points of one system, and the ids at which it has none for lack of memory.
struct SystemLines {
  std::string system;
  Series published;
  Series simulated;
  Series horizon;
  std::vector<std::string> published_out;
  std::vector<std::string> simulated_out;
};

void AddPoint(const ChartSpec& spec, const ComparedRow& compared, double x, SystemLines& lines) {
  const PublishedRow& row = compared.result.row;
  if (const std::optional<double> value = PublishedValue(spec.metric, compared)) {
    lines.published.points.emplace_back(x, *value);
  } else if (row.status == RunStatus::kOutOfMemory) {
    lines.published_out.push_back(row.id);
  }
  if (HasSimulatedValue(spec.metric, compared)) {
    lines.simulated.points.emplace_back(x, SimulatedValue(spec.metric, compared.result));
  } else if (compared.is_simulated) {
    lines.simulated_out.push_back(row.id);
  }
  if (const std::optional<double> value = HorizonChartValue(spec.metric, compared)) {
    lines.horizon.points.emplace_back(x, *value);
  }
}

std::vector<SystemLines> CollectLines(const ExperimentRun& run, const ChartSpec& spec) {
  std::vector<SystemLines> systems;
  for (size_t i = 0; i < run.rows.size(); ++i) {
    const PublishedRow& row = run.rows[i].result.row;
    if (!run.rows[i].is_simulated || !BelongsTo(spec.metric, row)) continue;
    auto at = std::find_if(systems.begin(), systems.end(),
                           [&](const SystemLines& lines) { return lines.system == row.system; });
    if (at == systems.end()) at = systems.insert(at, {.system = row.system});
    AddPoint(spec, run.rows[i], XOf(spec.x, row, i), *at);
  }
  // Points are joined in order; rows come as the table has them.
  for (SystemLines& lines : systems) {
    for (Series* series : {&lines.published, &lines.simulated, &lines.horizon}) {
      std::stable_sort(series->points.begin(), series->points.end());
    }
  }
  return systems;
}

void DrawLines(const ExperimentRun& run, const ChartSpec& spec, ReportChart& drawn) {
  const std::vector<SystemLines> systems = CollectLines(run, spec);
  const bool wide = spec.x == ChartX::kSequence;
  Plot plot{.title = TitleOf(run, spec),
            .x_label = spec.x_label,
            .y_label = spec.y_label,
            .x_scale = wide ? Scale::kLog2 : Scale::kLinear,
            .y_scale = wide ? Scale::kLog10 : Scale::kLinear};
  const auto add = [&](Series series, std::string name, SeriesStyle style, size_t color) {
    if (series.points.empty()) return;
    series.name = std::move(name);
    series.style = style;
    series.color = color;
    plot.series.push_back(std::move(series));
  };
  std::vector<std::string> out;
  for (size_t i = 0; i < systems.size(); ++i) {
    const SystemLines& lines = systems[i];
    // The last color is the horizon line's.
    const size_t color = i == 0 ? 0 : i + 1;
    const std::string system = ShortSystem(lines.system);
    add(lines.simulated, StrCat(system, ", simulated"), SeriesStyle::kLine, color);
    add(lines.published, StrCat(system, ", published"), SeriesStyle::kMarkers, color);
    if (lines.system == kPublishedSystem) {
      add(lines.horizon, "horizon, simulated", SeriesStyle::kLineAndMarkers, 1);
    }
    const auto say = [&](const std::vector<std::string>& ids, std::string_view how) {
      if (!ids.empty()) out.push_back(StrCat(system, " (", how, "): ", absl::StrJoin(ids, ", ")));
    };
    say(lines.published_out, "published");
    say(lines.simulated_out, "simulated");
  }
  // Host memory is known of runs that do not fit, too.
  if (spec.metric == Metric::kHostGib) out.clear();
  if (!out.empty()) drawn.caption += StrCat("Out of memory: ", absl::StrJoin(out, "; "), ". ");
  drawn.svg = DrawSvg(plot);
  plot.is_narrow = true;
  drawn.narrow_svg = DrawSvg(plot);
}

ReportChart DrawLargest(const ExperimentRun& run) {
  BarChart chart{.title = run.experiment.title,
                 .x_label = "machine",
                 .y_label = "largest model, billions of parameters"};
  for (const MachineLargest& entry : run.largest) {
    if (chart.categories.empty() || chart.categories.back() != entry.machine) {
      chart.categories.push_back(entry.machine);
    }
    const std::string name = StrCat("optimizer state ", ToString(entry.state_format));
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const BarSeries& candidate) { return candidate.name == name; });
    if (series == chart.series.end()) series = chart.series.insert(series, {.name = name});
    const std::optional<SizedModel>& model = entry.models.by_depth;
    series->bars.push_back(model.has_value()
                               ? Bar{.value = static_cast<double>(model->parameters) * 1e-9}
                               : Bar{.missing = "none"});
  }
  return {.name = run.experiment.name,
          .svg = DrawSvg(chart),
          .narrow_svg = DrawBarList(chart),
          .caption = "Simulated, by depth at one width of the Qwen2.5 family. "};
}

}  // namespace

std::vector<ReportChart> DrawCharts(const ExperimentRun& run) {
  std::vector<ReportChart> charts;
  if (!run.largest.empty()) charts.push_back(DrawLargest(run));
  for (const ChartSpec& spec : run.experiment.charts) {
    ReportChart chart{.name = run.experiment.name};
    if (!charts.empty()) chart.name += StrCat("_", ToString(spec.metric));
    if (spec.kind == ChartKind::kBars) {
      DrawBars(run, spec, chart);
    } else {
      DrawLines(run, spec, chart);
    }
    const bool ignored = std::any_of(run.rows.begin(), run.rows.end(), [](const ComparedRow& row) {
      return row.result.row.use == RowUse::kIgnored;
    });
    if (ignored) chart.caption += "Published figures that are not used (tier C) are not drawn.";
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace horizon
