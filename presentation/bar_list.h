#pragma once

#include <string>

#include "presentation/bar_chart.h"

namespace horizon {

// Draws a bar chart for a narrow screen such as a phone: categories one below the other, each with
// its name above its bars, which run from the left and have their value written at the end. 320
// units wide and as tall as it needs to be; otherwise as DrawSvg(const BarChart&).
std::string DrawBarList(const BarChart& chart);

}  // namespace horizon
