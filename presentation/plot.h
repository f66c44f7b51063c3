#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "presentation/axis.h"

namespace horizon {

// How a series is drawn. Markers without a line are hollow. They are for published or measured
// values, so that they can be drawn on top of the line of simulated values. Dashed lines are for
// limits and bounds.
enum class SeriesStyle { kLineAndMarkers, kLine, kDashedLine, kMarkers };

// One series of points.
struct Series {
  std::string name;  // in the legend; "": no entry
  SeriesStyle style = SeriesStyle::kLineAndMarkers;
  std::vector<std::pair<double, double>> points;  // (x, y), joined in this order
  // Index in the palette; by default the index of the series in the plot. Two series that belong
  // together (simulated and published) have the same color.
  std::optional<size_t> color;
};

// Whether the y axis begins at zero or shows the range of the data.
enum class YRange { kFromZero, kAroundData };

// A line chart: series over a numeric x axis.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  Scale x_scale = Scale::kLinear;
  Scale y_scale = Scale::kLinear;
  YRange y_range = YRange::kFromZero;  // no effect on a logarithmic axis
  std::vector<Series> series;
  bool is_narrow = false;  // for a phone: 320 wide, with the legend below the data
};

// Draws the plot as a stand-alone SVG document, which may also be embedded in HTML unchanged. Its
// viewBox is 720x420 (taller with a very long legend), or 320 wide; it has no script, no id and no
// reference, and follows the reader's light or dark theme. Every point has its exact values as a
// tooltip. Points that an axis cannot show (IsDrawable) are left out and break their line. Pure:
// the same plot gives the same bytes.
std::string DrawSvg(const Plot& plot);

}  // namespace horizon
