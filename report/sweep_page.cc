#include "report/sweep_page.h"

#include <utility>

#include "common/text/str_cat.h"
#include "presentation/html.h"
#include "presentation/plot.h"

namespace horizon {
namespace {

Plot PlotOf(std::string title, const Sweep& sweep, std::string y_label) {
  return {.title = std::move(title),
          .x_label = sweep.field == SweepField::kBatch ? "sequences in a micro-batch"
                                                       : "tokens in a sequence",
          .y_label = std::move(y_label),
          .x_scale = Scale::kLog2};
}

}  // namespace

std::string SweepPage(const std::string& heading, const Sweep& sweep,
                      const std::vector<SweptPlan>& plans) {
  constexpr double kGib = 1 << 30;
  Series speed{.name = "predicted", .points = {}};
  Series host{.name = "host memory", .points = {}};
  Series device{.name = "device memory", .points = {}};
  for (const SweptPlan& one : plans) {
    if (!one.answer.feasible) continue;
    const Prediction& prediction = one.answer.search.prediction;
    const auto value = static_cast<double>(one.value);
    speed.points.emplace_back(value, prediction.tokens_per_second);
    host.points.emplace_back(value, static_cast<double>(prediction.memory.host_bytes()) / kGib);
    device.points.emplace_back(value, static_cast<double>(prediction.memory.device_bytes()) / kGib);
  }
  HtmlPage page(heading);
  page.AddPreformatted(SweepText(sweep, plans));
  if (!speed.points.empty()) {
    Plot speeds = PlotOf("Speed", sweep, "tokens/s");
    speeds.series = {std::move(speed)};
    Plot memory = PlotOf("Memory", sweep, "GiB");
    memory.series = {std::move(host), std::move(device)};
    page.AddFigure(DrawSvg(speeds), StrCat("Predicted tokens/s by ", ToString(sweep.field)));
    page.AddFigure(DrawSvg(memory), StrCat("Memory of the plan by ", ToString(sweep.field)));
  }
  return page.Render();
}

}  // namespace horizon
