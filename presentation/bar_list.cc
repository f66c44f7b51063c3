#include "presentation/bar_list.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include "common/text/str_cat.h"
#include "presentation/axis.h"
#include "presentation/plot_frame.h"
#include "presentation/text_width.h"

namespace horizon {
namespace {

constexpr double kEdge = 14;
constexpr double kTitleHeight = 40;
constexpr double kLine = 20;  // of text: legend and names of categories
constexpr double kBarHeight = 13;
constexpr double kBarStep = 16;    // from one bar to the next
constexpr double kGroupGap = 8;    // below the last bar of a category
constexpr double kValueRoom = 48;  // beside the longest bar

std::optional<double> Shown(const BarSeries& series, size_t category) {
  if (category >= series.bars.size()) return std::nullopt;
  const std::optional<double>& value = series.bars[category].value;
  return value.has_value() && IsDrawable(Scale::kLinear, *value) ? value : std::nullopt;
}

// Where values lie between the left edge and the room for their text; zero is always in sight.
class Ruler {
 public:
  explicit Ruler(const BarChart& chart) {
    for (const BarSeries& series : chart.series) {
      for (size_t i = 0; i < chart.categories.size(); ++i) {
        const double value = Shown(series, i).value_or(0);
        low_ = std::min(low_, value);
        high_ = std::max(high_, value);
      }
    }
    // Halves, since the difference of two extreme values need not be finite.
    if (!(high_ / 2 - low_ / 2 > 0)) high_ = 1;
    left_ = kEdge + (low_ < 0 ? kValueRoom : 0);
  }
  double X(double value) const {
    const double share = (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
    return left_ + share * (kNarrowCanvasWidth - kEdge - kValueRoom - left_);
  }

 private:
  double low_ = 0;
  double high_ = 0;
  double left_ = kEdge;
};

// The entries of the legend side by side, in as many lines as they need; moves `y` below them.
std::string DrawLegend(const BarChart& chart, double& y) {
  std::string drawing;
  double x = kEdge;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const std::string& name = chart.series[i].name;
    if (name.empty()) continue;
    const std::string shown = Shortened(name, kFontSize, kNarrowCanvasWidth - 2 * kEdge - 18);
    const double width = 18 + TextWidth(shown, kFontSize);
    if (x > kEdge && x + width > kNarrowCanvasWidth - kEdge) {
      x = kEdge;
      y += kLine;
    }
    drawing += StrCat("<g class=\"legend\">", ColorGroup(i), "<path d=\"M", Coordinate(x), " ",
                      Coordinate(y - 10), "h12v12h-12z\" fill=\"currentColor\"/></g>",
                      DrawText(x + 18, y, "start", shown), "</g>\n");
    x += width + 14;
  }
  if (!drawing.empty()) y += kLine;
  return StrCat("<g class=\"ink\" color=\"#1f2328\">", drawing, "</g>\n");
}

std::string DrawBar(const BarChart& chart, const Ruler& ruler, size_t series, size_t category,
                    double y) {
  const double zero = ruler.X(0);
  const std::optional<double> value = Shown(chart.series[series], category);
  const std::vector<Bar>& bars = chart.series[series].bars;
  std::string text = category < bars.size() ? bars[category].missing : "";
  std::string drawing;
  double end = zero;
  if (value.has_value()) {
    text = ShortValue(*value);
    end = ruler.X(*value);
    const std::string& name = chart.series[series].name;
    drawing =
        StrCat(ColorGroup(series), "<rect x=\"", Coordinate(std::min(zero, end)), "\" y=\"",
               Coordinate(y), "\" width=\"", Coordinate(std::max(1.0, std::abs(end - zero))),
               "\" height=\"", Coordinate(kBarHeight), "\" fill=\"currentColor\">",
               Tooltip(StrCat(chart.categories[category], name.empty() ? "" : "\n", name, "\n",
                              chart.y_label.empty() ? "value" : chart.y_label, ": ", *value)),
               "</rect></g>");
  }
  const bool is_negative = end < zero;
  const double room = kNarrowCanvasWidth - end - 12;
  return StrCat(
      drawing, "<g class=\"soft\" color=\"#57606a\">",
      DrawText(is_negative ? end - 5 : end + 5, y + kBarHeight - 2, is_negative ? "end" : "start",
               Shortened(text, kFontSize, is_negative ? end - 4 : room)),
      "</g>\n");
}

std::string DrawName(std::string_view name, double y) {
  const std::string shown = Shortened(name, kFontSize, kNarrowCanvasWidth - 2 * kEdge);
  return StrCat("<g class=\"ink\" color=\"#1f2328\">", shown == name ? "" : Tooltip(name),
                DrawText(kEdge, y, "start", shown), "</g>\n");
}

}  // namespace

std::string DrawBarList(const BarChart& chart) {
  const Ruler ruler(chart);
  double y = chart.title.empty() ? kEdge + kFontSize : kTitleHeight + kFontSize;
  std::string body;
  const std::string unit = StrCat(
      chart.y_label, chart.y_label.empty() || chart.x_label.empty() ? "" : " by ", chart.x_label);
  if (!unit.empty()) {
    body += StrCat(
        "<g class=\"soft\" color=\"#57606a\">",
        DrawText(kEdge, y, "start", Shortened(unit, kFontSize, kNarrowCanvasWidth - 2 * kEdge)),
        "</g>\n");
    y += kLine;
  }
  body += DrawLegend(chart, y);
  for (size_t i = 0; i < chart.categories.size() && !chart.series.empty(); ++i) {
    y += kGroupGap;
    body += DrawName(chart.categories[i], y);
    y += 6;
    for (size_t series = 0; series < chart.series.size(); ++series) {
      body += DrawBar(chart, ruler, series, i, y);
      y += kBarStep;
    }
    y += kFontSize;
  }
  if (chart.categories.empty() || chart.series.empty()) {
    body += StrCat("<g class=\"soft\" color=\"#57606a\">",
                   DrawText(kNarrowCanvasWidth / 2, y + kLine, "middle", "no data"), "</g>\n");
    y += 2 * kLine;
  }
  const Frame frame{.request = {.title = chart.title, .width = kNarrowCanvasWidth},
                    .height = y + 4};
  return StrCat(DrawFrame(frame), body, kSvgEnd);
}

}  // namespace horizon
