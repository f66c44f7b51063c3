#pragma once

#include <optional>
#include <string>
#include <vector>

namespace horizon {

// One bar, or the reason why there is none: `missing` ("OOM", "not run") is written in its place.
struct Bar {
  std::optional<double> value;
  std::string missing;
};

// The bars of one series, which share a color and a legend entry.
struct BarSeries {
  std::string name;
  std::vector<Bar> bars;  // one for each category; the last ones may be left out
};

// A bar chart: for each named category a group of bars side by side, drawn from zero.
struct BarChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
};

// Draws the chart as a stand-alone SVG document, with the properties of DrawSvg(const Plot&). A
// value that is not finite is drawn as a missing bar. Values are written above the bars if there is
// room for all of them.
std::string DrawSvg(const BarChart& chart);

}  // namespace horizon
