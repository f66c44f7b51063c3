#pragma once

#include <span>
#include <string>
#include <vector>

namespace horizon {

// Lays out the axis of a chart: its range, ticks and labels.

// The scale of an axis.
enum class Scale { kLinear, kLog2, kLog10 };

// Whether labels are side by side along the axis or one above the other.
enum class AxisDirection { kHorizontal, kVertical };

// The range that an axis shows. kData: the given values with a small margin at both ends.
// kDataToTicks: the given values, extended to the next tick at both ends. kZeroToTicks: the same,
// with zero included; on a logarithmic axis, which has no zero, it equals kDataToTicks.
enum class AxisRange { kData, kDataToTicks, kZeroToTicks };

// A tick of an axis with its label.
struct Tick {
  double position;  // 0 is the low end of the axis, 1 is the high end
  std::string label;
};

// An axis with its ticks. Labels are in units of 10^exponent (0 if they are written as powers).
struct Axis {
  Scale scale = Scale::kLinear;
  double low = 0;  // on a logarithmic scale both ends are logarithms
  double high = 1;
  int exponent = 0;
  std::vector<Tick> ticks;

  // The position of a drawable value, in [0, 1] if it is one of the values given to LayOutAxis.
  double Position(double value) const;
};

// What LayOutAxis lays out.
struct AxisRequest {
  Scale scale = Scale::kLinear;
  AxisRange range = AxisRange::kData;
  AxisDirection direction = AxisDirection::kHorizontal;
  double length = 0;  // in the same unit as font_size
  double font_size = 0;
};

// Whether an axis can show `value`: it must be finite, not beyond 1e300 and, on a logarithmic
// scale, at least 1e-300.
bool IsDrawable(Scale scale, double value);

// Lays out an axis for these values. Ticks are at 1, 2 or 5 times a power of ten, or at powers on a
// logarithmic scale that spans enough of them; there are as many as fit without labels touching.
// Values that are not drawable are ignored. If none is left, or all are equal, the axis shows some
// range around them.
Axis LayOutAxis(const AxisRequest& request, std::span<const double> values);

// The title of an axis: "parameters (×10⁹)", or just the label if tick labels are plain numbers.
std::string AxisTitle(const Axis& axis, const std::string& label);

}  // namespace horizon
