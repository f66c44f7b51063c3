#include "presentation/bar_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "common/text/str_cat.h"
#include "presentation/axis.h"
#include "presentation/plot_frame.h"
#include "presentation/text_width.h"

namespace horizon {
namespace {

constexpr double kSlope = 35;            // degrees, of category names that have no room to lie
constexpr double kLongestSloping = 130;  // along the text
constexpr double kGroupShare = 0.8;      // of a category's width; the rest is between groups
constexpr double kWidestBar = 54;
constexpr double kValueSize = kFontSize;

struct Layout {
  Frame frame;
  Axis y;
  double slot = 0;  // the width of one category
  double bar = 0;   // and of one bar
  bool names_slope = false;
  bool has_values = false;  // written above every bar
};

// The value to draw, if there is one.
std::optional<double> Shown(const BarSeries& series, size_t category) {
  if (category >= series.bars.size()) return std::nullopt;
  const std::optional<double>& value = series.bars[category].value;
  return value.has_value() && IsDrawable(Scale::kLinear, *value) ? value : std::nullopt;
}

std::vector<double> ShownValues(const BarChart& chart) {
  std::vector<double> values;
  for (const BarSeries& series : chart.series) {
    for (size_t i = 0; i < chart.categories.size(); ++i) {
      if (const auto value = Shown(series, i)) values.push_back(*value);
    }
  }
  return values;
}

double WidestCategory(const BarChart& chart) {
  double widest = 0;
  for (const std::string& name : chart.categories) {
    widest = std::max(widest, TextWidth(name, kFontSize));
  }
  return widest;
}

double SlotWidth(const BarChart& chart, const Frame& frame) {
  return frame.data.width() / static_cast<double>(std::max<size_t>(1, chart.categories.size()));
}

Layout LayOut(const BarChart& chart) {
  const std::vector<double> values = ShownValues(chart);
  FrameRequest request{.title = chart.title, .x_title = chart.x_label, .y_title = chart.y_label};
  for (size_t i = 0; i < chart.series.size(); ++i) {
    request.legend.push_back({.name = chart.series[i].name, .swatch = Swatch::kBar, .color = i});
  }
  Layout layout{.frame = LayOutFrame(request, 4 * kFontSize)};
  // As in a plot of points, labels need the axis and the axis needs the room they leave.
  for (int round = 0; round < 2; ++round) {
    const double widest = WidestCategory(chart);
    layout.names_slope = layout.names_slope || widest + kFontSize > SlotWidth(chart, layout.frame);
    if (layout.names_slope) {
      const double along = std::min(widest, kLongestSloping);
      request.x_tick_height = along * std::sin(kSlope * M_PI / 180) + 1.6 * kFontSize;
    }
    layout.y = LayOutAxis({.scale = Scale::kLinear,
                           .range = AxisRange::kZeroToTicks,
                           .direction = AxisDirection::kVertical,
                           .length = LayOutFrame(request, 0).data.height(),
                           .font_size = kFontSize},
                          values);
    request.y_title = AxisTitle(layout.y, chart.y_label);
    layout.frame = LayOutFrame(request, LabelWidth(layout.y));
  }
  layout.slot = SlotWidth(chart, layout.frame);
  const auto count = static_cast<double>(std::max<size_t>(1, chart.series.size()));
  layout.bar = std::min(kWidestBar, layout.slot * kGroupShare / count);
  layout.has_values = std::all_of(values.begin(), values.end(), [&](double value) {
    return TextWidth(ShortValue(value), kValueSize) <= layout.bar;
  });
  return layout;
}

std::string DrawCategories(const BarChart& chart, const Layout& layout) {
  const Box& box = layout.frame.data;
  // Names that cannot even stand side by side when they slope: every second, every third, ...
  const auto every = static_cast<size_t>(std::ceil(1.4 * kFontSize / layout.slot));
  std::string drawing = "<g class=\"soft\" color=\"#57606a\">\n";
  for (size_t i = 0; i < chart.categories.size(); i += every) {
    const double x = box.left + (static_cast<double>(i) + 0.5) * layout.slot;
    const std::string& name = chart.categories[i];
    if (!layout.names_slope) {
      drawing += StrCat(DrawText(x, box.bottom + 18, "middle", name), "\n");
      continue;
    }
    // The text leaves towards the lower left and must not leave the canvas.
    const double room = (x - 4) / std::cos(kSlope * M_PI / 180);
    const std::string shown = Shortened(name, kFontSize, std::min(kLongestSloping, room));
    drawing += StrCat("<g transform=\"translate(", Coordinate(x + 4), " ",
                      Coordinate(box.bottom + 16), ") rotate(-", Coordinate(kSlope), ")\">",
                      shown == name ? "" : Tooltip(name), DrawText(0, 0, "end", shown), "</g>\n");
  }
  return drawing + "</g>\n";
}

std::string BarTooltip(const BarChart& chart, size_t series, size_t category,
                       std::string_view value) {
  const std::string& name = chart.series[series].name;
  return StrCat(chart.categories[category], name.empty() ? "" : "\n", name, "\n",
                chart.y_label.empty() ? "value" : chart.y_label, ": ", value);
}

// A small cross on the zero line with the reason above it, upright if the bar is too narrow.
std::string DrawMissing(const BarChart& chart, const Layout& layout, size_t series, size_t category,
                        double middle, double zero) {
  const std::vector<Bar>& bars = chart.series[series].bars;
  const std::string reason = category < bars.size() ? bars[category].missing : "";
  if (reason.empty()) return "";
  const bool lies = TextWidth(reason, kValueSize) <= layout.bar - 2;
  const Box& box = layout.frame.data;
  const std::string shown = Shortened(reason, kValueSize, box.height() / 2);
  const std::string place = lies ? StrCat(Coordinate(middle), " ", Coordinate(zero - 14), ")")
                                 : StrCat(Coordinate(middle + kValueSize * 0.35), " ",
                                          Coordinate(zero - 14), ") rotate(-90)");
  return StrCat("<g>", Tooltip(BarTooltip(chart, series, category, reason)),
                "<path transform=\"translate(", Coordinate(middle), " ", Coordinate(zero - 6),
                ")\" d=\"M-3 -3L3 3M-3 3L3 -3\" stroke=\"currentColor\" stroke-width=\"1.8\"/>",
                "<g transform=\"translate(", place, "\" font-size=\"", Coordinate(kValueSize),
                "\">", DrawText(0, 0, lies ? "middle" : "start", shown), "</g></g>\n");
}

std::string DrawBar(const BarChart& chart, const Layout& layout, size_t series, size_t category) {
  const Box& box = layout.frame.data;
  const double group = layout.bar * static_cast<double>(chart.series.size());
  const double left = box.left + (static_cast<double>(category) + 0.5) * layout.slot - group / 2 +
                      static_cast<double>(series) * layout.bar;
  const double middle = left + layout.bar / 2;
  const double zero = box.bottom - layout.y.Position(0) * box.height();
  const std::optional<double> value = Shown(chart.series[series], category);
  if (!value.has_value()) return DrawMissing(chart, layout, series, category, middle, zero);
  const double end = box.bottom - layout.y.Position(*value) * box.height();
  const double gap = std::min(1.0, layout.bar * 0.1);
  std::string drawing =
      StrCat("<rect x=\"", Coordinate(left + gap), "\" y=\"", Coordinate(std::min(zero, end)),
             "\" width=\"", Coordinate(layout.bar - 2 * gap), "\" height=\"",
             Coordinate(std::abs(zero - end)), "\" fill=\"currentColor\">",
             Tooltip(BarTooltip(chart, series, category, StrCat(*value))), "</rect>\n");
  if (layout.has_values) {
    drawing += StrCat(
        "<g class=\"soft\" color=\"#57606a\" font-size=\"", Coordinate(kValueSize), "\">",
        DrawText(middle, *value < 0 ? end + 12 : end - 4, "middle", ShortValue(*value)), "</g>\n");
  }
  return drawing;
}

}  // namespace

std::string DrawSvg(const BarChart& chart) {
  const Layout layout = LayOut(chart);
  std::string svg = StrCat(DrawFrame(layout.frame), DrawYAxis(layout.frame, layout.y));
  for (size_t series = 0; series < chart.series.size(); ++series) {
    svg += StrCat(ColorGroup(series), "\n");
    for (size_t category = 0; category < chart.categories.size(); ++category) {
      svg += DrawBar(chart, layout, series, category);
    }
    svg += "</g>\n";
  }
  if (chart.categories.empty() || chart.series.empty()) svg += DrawNoData(layout.frame);
  return StrCat(svg, DrawBaseline(layout.frame, layout.y.Position(0)),
                DrawCategories(chart, layout), DrawXTitle(layout.frame), kSvgEnd);
}

}  // namespace horizon
