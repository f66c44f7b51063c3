#pragma once

#include <optional>
#include <string>
#include <vector>

namespace horizon {

// One bar, or why there is none: `missing` ("OOM", "not run") is written where it would stand.
struct Bar {
  std::optional<double> value;
  std::string missing;
};

struct BarSeries {
  std::string name;
  std::vector<Bar> bars;  // one for each category; those at the end may be left out
};

// Groups of bars side by side, from zero, over named categories.
struct BarChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
};

// A stand-alone SVG document with the properties of DrawSvg(const Plot&). A value that is not
// finite is drawn as a missing bar. Values stand above their bars where there is room for all.
std::string DrawSvg(const BarChart& chart);

}  // namespace horizon
