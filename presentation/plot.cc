#include "presentation/plot.h"

#include "common/text/str_cat.h"
#include "presentation/plot_frame.h"

namespace horizon {
namespace {

struct Layout {
  Frame frame;
  Axis x;
  Axis y;
};

bool IsShown(const Plot& plot, const std::pair<double, double>& point) {
  return IsDrawable(plot.x_scale, point.first) && IsDrawable(plot.y_scale, point.second);
}

Swatch SwatchOf(SeriesStyle style) {
  switch (style) {
    case SeriesStyle::kLineAndMarkers:
      return Swatch::kLineAndMarkers;
    case SeriesStyle::kLine:
      return Swatch::kLine;
    case SeriesStyle::kDashedLine:
      return Swatch::kDashedLine;
    case SeriesStyle::kMarkers:
      return Swatch::kMarkers;
  }
  return Swatch::kLine;
}

Layout LayOut(const Plot& plot) {
  std::vector<double> xs;
  std::vector<double> ys;
  FrameRequest request{.title = plot.title,
                       .x_title = plot.x_label,
                       .y_title = plot.y_label,
                       .width = plot.is_narrow ? kNarrowCanvasWidth : kCanvasWidth};
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    request.legend.push_back({.name = series.name,
                              .swatch = SwatchOf(series.style),
                              .color = series.color.value_or(i),
                              .shape = i});
    for (const auto& point : series.points) {
      if (!IsShown(plot, point)) continue;
      xs.push_back(point.first);
      ys.push_back(point.second);
    }
  }
  AxisRequest x{.scale = plot.x_scale,
                .range = AxisRange::kData,
                .direction = AxisDirection::kHorizontal,
                .font_size = kFontSize};
  AxisRequest y{.scale = plot.y_scale,
                .range = plot.y_range == YRange::kFromZero ? AxisRange::kZeroToTicks
                                                           : AxisRange::kDataToTicks,
                .direction = AxisDirection::kVertical,
                .font_size = kFontSize};
  Layout layout{.frame = LayOutFrame(request, 4 * kFontSize)};
  // Labels and titles need the axes, axes need the room that labels and titles leave: the second
  // round starts from the right titles and changes widths by at most a digit.
  for (int round = 0; round < 2; ++round) {
    y.length = layout.frame.data.height();
    layout.y = LayOutAxis(y, ys);
    x.length = layout.frame.data.width();
    layout.x = LayOutAxis(x, xs);
    request.x_title = AxisTitle(layout.x, plot.x_label);
    request.y_title = AxisTitle(layout.y, plot.y_label);
    layout.frame = LayOutFrame(request, LabelWidth(layout.y));
  }
  x.length = layout.frame.data.width();
  layout.x = LayOutAxis(x, xs);
  return layout;
}

std::string Name(const std::string& label, const char* otherwise) {
  return label.empty() ? otherwise : label;
}

std::string PointTooltip(const Plot& plot, const Series& series,
                         const std::pair<double, double>& point) {
  return StrCat(series.name, series.name.empty() ? "" : "\n", Name(plot.x_label, "x"), ": ",
                point.first, "\n", Name(plot.y_label, "y"), ": ", point.second);
}

std::string DrawSeries(const Plot& plot, const Layout& layout, size_t index) {
  const Series& series = plot.series[index];
  const Box& box = layout.frame.data;
  const bool has_markers =
      series.style == SeriesStyle::kLineAndMarkers || series.style == SeriesStyle::kMarkers;
  std::string path;
  std::string markers;
  bool is_joined = false;
  for (const auto& point : series.points) {
    if (!IsShown(plot, point)) {
      is_joined = false;
      continue;
    }
    const double x = box.left + layout.x.Position(point.first) * box.width();
    const double y = box.bottom - layout.y.Position(point.second) * box.height();
    path += StrCat(is_joined ? "L" : "M", Coordinate(x), " ", Coordinate(y));
    is_joined = true;
    const std::string tooltip = PointTooltip(plot, series, point);
    if (has_markers) {
      const bool is_hollow = series.style == SeriesStyle::kMarkers;
      markers +=
          DrawMarker(index, is_hollow ? MarkerFill::kHollow : MarkerFill::kSolid, x, y, tooltip);
    } else {
      // Unseen, but found by the mouse.
      markers += StrCat("<circle cx=\"", Coordinate(x), "\" cy=\"", Coordinate(y),
                        "\" r=\"6\" fill-opacity=\"0\">", Tooltip(tooltip), "</circle>");
    }
    markers += "\n";
  }
  std::string drawing = ColorGroup(series.color.value_or(index));
  if (!path.empty() && series.style != SeriesStyle::kMarkers) {
    drawing +=
        StrCat("<path d=\"", path, "\" fill=\"none\" stroke=\"currentColor\" ",
               "stroke-width=\"2\" stroke-linejoin=\"round\"",
               series.style == SeriesStyle::kDashedLine ? " stroke-dasharray=\"6 4\"" : "", "/>\n");
  }
  return StrCat(drawing, markers, "</g>\n");
}

bool HasPoints(const Plot& plot) {
  for (const Series& series : plot.series) {
    for (const auto& point : series.points) {
      if (IsShown(plot, point)) return true;
    }
  }
  return false;
}

}  // namespace

std::string DrawSvg(const Plot& plot) {
  const Layout layout = LayOut(plot);
  std::string svg = StrCat(DrawFrame(layout.frame), DrawYAxis(layout.frame, layout.y),
                           DrawXAxis(layout.frame, layout.x));
  if (!HasPoints(plot)) return StrCat(svg, DrawNoData(layout.frame), kSvgEnd);
  for (size_t i = 0; i < plot.series.size(); ++i) svg += DrawSeries(plot, layout, i);
  return StrCat(svg, kSvgEnd);
}

}  // namespace horizon
