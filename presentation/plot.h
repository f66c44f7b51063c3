#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "presentation/axis.h"

namespace horizon {

// How a series is drawn. Markers alone are hollow, for what was published or measured, so that they
// can lie on the line of what was simulated. Dashed lines are for limits and bounds.
enum class SeriesStyle { kLineAndMarkers, kLine, kDashedLine, kMarkers };

struct Series {
  std::string name;  // in the legend; "" has no entry
  SeriesStyle style = SeriesStyle::kLineAndMarkers;
  std::vector<std::pair<double, double>> points;  // (x, y), joined in this order
  // The place in the palette; the series' own place in the plot if not given. Two series that
  // belong together (simulated and published) share one.
  std::optional<size_t> color;
};

enum class YRange { kFromZero, kAroundData };

// Series over a numeric x axis.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  Scale x_scale = Scale::kLinear;
  Scale y_scale = Scale::kLinear;
  YRange y_range = YRange::kFromZero;  // no effect on a logarithmic axis
  std::vector<Series> series;
};

// A stand-alone SVG document, which may also be put into HTML as it is: viewBox 720x420 (taller
// under a very long legend), no script, no id, no reference, dark where the reader prefers dark.
// Every point carries its exact values as a tooltip. Points an axis cannot show (IsDrawable) are
// left out and break their line. Pure: the same plot gives the same bytes.
std::string DrawSvg(const Plot& plot);

}  // namespace horizon
