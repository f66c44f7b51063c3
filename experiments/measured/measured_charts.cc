#include "experiments/measured/measured_charts.h"

#include <optional>
#include <string>
#include <utility>

#include "common/text/str_cat.h"
#include "presentation/bar_chart.h"
#include "presentation/bar_list.h"
#include "presentation/plot.h"

namespace horizon {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

// The figure of a row for each of the three sources; throughput in percent of the row it is
// compared with, 100 for that row itself.
struct Figures {
  std::optional<double> published;
  std::optional<double> simulated;
  std::optional<double> measured;
};

Figures FiguresOf(const MeasuredExperiment& experiment, const MeasuredRow& row,
                  MeasuredMetric metric) {
  switch (metric) {
    case MeasuredMetric::kSeconds:
      return {.simulated = row.simulated_seconds, .measured = row.seconds};
    case MeasuredMetric::kHostGib:
      return {.simulated = static_cast<double>(row.simulated_host_bytes) / kGib,
              .measured = static_cast<double>(row.host_bytes) / kGib};
    case MeasuredMetric::kThroughput:
      break;
  }
  const auto share = [&](const std::optional<double>& change) -> std::optional<double> {
    if (row.config.compared_with.empty()) return 100;
    return change.has_value() ? std::optional(100 * (1 + *change)) : std::nullopt;
  };
  Figures figures{.simulated = share(experiment.SimulatedChange(row)),
                  .measured = share(experiment.MeasuredChange(row))};
  if (experiment.PublishedOf(row) != nullptr) {
    figures.published = share(experiment.PublishedChange(row));
  }
  return figures;
}

double XOf(const MeasuredExperiment& experiment, const MeasuredRow& row,
           const MeasuredChart& chart) {
  const MeasuredRow* base = experiment.Find(row.config.compared_with);
  if (base == nullptr) base = &row;
  const bool relative = chart.metric == MeasuredMetric::kThroughput;
  switch (chart.x) {
    case MeasuredX::kLayers:
      return static_cast<double>(row.config.model.layers) /
             (relative ? static_cast<double>(base->config.model.layers) : 1.0);
    case MeasuredX::kHidden:
      return static_cast<double>(row.config.model.hidden) /
             (relative ? static_cast<double>(base->config.model.hidden) : 1.0);
    case MeasuredX::kTokens:
      return static_cast<double>(row.tokens()) / 1024;
    case MeasuredX::kParameters:
    case MeasuredX::kRow:
      break;
  }
  return static_cast<double>(row.parameters) * 1e-6;
}

// The paper's place on an axis of multiples is its own.
double PublishedX(const MeasuredExperiment& experiment, const MeasuredRow& row,
                  const MeasuredChart& chart) {
  const MeasuredRow* base = experiment.Find(row.config.compared_with);
  const PublishedRow* theirs = experiment.PublishedOf(row);
  const PublishedRow* their_base = base == nullptr ? theirs : experiment.PublishedOf(*base);
  const auto size = [&](const PublishedRow& published) {
    return chart.x == MeasuredX::kLayers ? published.layers : published.hidden;
  };
  if (theirs == nullptr || their_base == nullptr || !size(*theirs) || !size(*their_base)) {
    return XOf(experiment, row, chart);
  }
  return static_cast<double>(*size(*theirs)) / static_cast<double>(*size(*their_base));
}

void DrawBars(const MeasuredExperiment& experiment, const MeasuredChart& spec, ReportChart& drawn) {
  BarChart chart{
      .title = experiment.config.title, .x_label = spec.x_label, .y_label = spec.y_label};
  BarSeries published{.name = "published"};
  BarSeries simulated{.name = "simulated"};
  BarSeries measured{.name = "measured"};
  bool any = false;
  for (const MeasuredRow& row : experiment.rows) {
    const Figures figures = FiguresOf(experiment, row, spec.metric);
    any |= figures.published.has_value();
    chart.categories.push_back(row.config.name);
    published.bars.push_back({.value = figures.published});
    simulated.bars.push_back({.value = figures.simulated});
    measured.bars.push_back({.value = figures.measured});
  }
  if (any) chart.series.push_back(std::move(published));
  chart.series.push_back(std::move(simulated));
  chart.series.push_back(std::move(measured));
  drawn.svg = DrawSvg(chart);
  drawn.narrow_svg = DrawBarList(chart);
}

void DrawLines(const MeasuredExperiment& experiment, const MeasuredChart& spec,
               ReportChart& drawn) {
  Plot plot{.title = experiment.config.title, .x_label = spec.x_label, .y_label = spec.y_label};
  std::vector<std::string> lines;
  Series published{.name = "published", .style = SeriesStyle::kLineAndMarkers};
  const auto series_of = [&](const std::string& line) -> size_t {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i] == line) return 2 * i;
    }
    const std::string of = line.empty() ? "" : StrCat(", ", line);
    const size_t color = lines.size();
    lines.push_back(line);
    plot.series.push_back(
        {.name = StrCat("simulated", of), .style = SeriesStyle::kLine, .color = color});
    plot.series.push_back(
        {.name = StrCat("measured", of), .style = SeriesStyle::kMarkers, .color = color});
    return plot.series.size() - 2;
  };
  for (const MeasuredRow& row : experiment.rows) {
    const Figures figures = FiguresOf(experiment, row, spec.metric);
    const double x = XOf(experiment, row, spec);
    const size_t at = series_of(row.config.line);
    if (figures.simulated.has_value()) plot.series[at].points.emplace_back(x, *figures.simulated);
    if (figures.measured.has_value()) plot.series[at + 1].points.emplace_back(x, *figures.measured);
    if (figures.published.has_value()) {
      published.points.emplace_back(PublishedX(experiment, row, spec), *figures.published);
    }
  }
  if (!published.points.empty()) {
    published.color = lines.size();
    plot.series.push_back(std::move(published));
  }
  drawn.svg = DrawSvg(plot);
  plot.is_narrow = true;
  drawn.narrow_svg = DrawSvg(plot);
}

}  // namespace

std::vector<ReportChart> DrawMeasuredCharts(const MeasuredExperiment& experiment) {
  std::vector<ReportChart> charts;
  for (const MeasuredChart& spec : experiment.config.charts) {
    std::string name = experiment.config.name + "_measured";
    if (!charts.empty()) name += StrCat("_", charts.size() + 1);
    ReportChart chart{.name = std::move(name),
                      .caption = StrCat(experiment.config.title, ": ", spec.y_label,
                                        ", simulated from this machine's profile and measured")};
    if (spec.x == MeasuredX::kRow) {
      DrawBars(experiment, spec, chart);
    } else {
      DrawLines(experiment, spec, chart);
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace horizon
