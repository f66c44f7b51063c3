#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "presentation/axis.h"

namespace horizon {

// The parts that all charts share: canvas, palette, title, legend, grid and axes. All lengths are
// in units of the viewBox; y points downwards.

inline constexpr double kFontSize = 12;
inline constexpr double kCanvasWidth = 720;
// The width of a drawing for a phone. One unit is about one pixel there, so text is about 12 pixels
// high.
inline constexpr double kNarrowCanvasWidth = 320;

// A rectangle.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

// How a legend shows a series. Markers without a line are hollow.
enum class Swatch { kLine, kDashedLine, kLineAndMarkers, kMarkers, kBar };

// One entry of a legend.
struct LegendEntry {
  std::string name;  // no entry is drawn for ""
  Swatch swatch = Swatch::kLine;
  size_t color = 0;  // index in the palette, which repeats
  size_t shape = 0;  // index of the marker shape; shapes repeat
};

// What LayOutFrame lays out.
struct FrameRequest {
  std::string title;
  std::string x_title;  // of the x axis, including the unit
  std::string y_title;
  std::vector<LegendEntry> legend;
  double x_tick_height = kFontSize + 6;  // height of the labels below the x axis
  double width = kCanvasWidth;           // of the canvas
};

// The layout of everything but the data. The legend is to the right of the data, or below it if its
// names are long or many, or the canvas is narrow; with very many names the canvas grows downwards.
struct Frame {
  FrameRequest request;
  double height = 0;  // of the canvas
  Box data;
  bool legend_is_below = false;
  std::vector<size_t> legend_rows;  // the index of the first entry of each row, if below
};

// Lays out a chart with `y_label_width` for the labels of the y axis.
Frame LayOutFrame(FrameRequest request, double y_label_width);

// The width of the widest label of an axis at kFontSize.
double LabelWidth(const Axis& axis);

// "<svg ...>" with its style, background, title and legend; the caller ends it with kSvgEnd. The
// presentation attributes have the light theme, so that programs without CSS draw it correctly.
std::string DrawFrame(const Frame& frame);
inline constexpr std::string_view kSvgEnd = "</svg>\n";

// Grid lines, tick labels and axis titles.
std::string DrawYAxis(const Frame& frame, const Axis& axis);
std::string DrawXAxis(const Frame& frame, const Axis& axis);
std::string DrawXTitle(const Frame& frame);

// The base line of the data, a dark line at a position of the y axis.
std::string DrawBaseline(const Frame& frame, double position);

// The text "no data" in the middle of the empty box.
std::string DrawNoData(const Frame& frame);

// "<g ...>" in which currentColor is a color of the palette; the caller ends it with </g>.
std::string ColorGroup(size_t color);

// One marker in the current color, with a tooltip (none for ""). Markers on lines are solid.
enum class MarkerFill { kSolid, kHollow };
std::string DrawMarker(size_t shape, MarkerFill fill, double x, double y, std::string_view tooltip);

// A figure beside a bar, in three or four digits: "1792", "53.2", "0.81".
std::string ShortValue(double value);

// A coordinate with at most two decimals: short, and the same on every machine.
std::string Coordinate(double value);

// One line of text in the current color, escaped. `anchor` ("start", "middle" or "end") is the part
// of the text that is at x.
std::string DrawText(double x, double y, std::string_view anchor, std::string_view text);

// "<title>...</title>", escaped, or "".
std::string Tooltip(std::string_view text);

}  // namespace horizon
