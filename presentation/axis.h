#pragma once

#include <span>
#include <string>
#include <vector>

namespace horizon {

enum class Scale { kLinear, kLog2, kLog10 };

// Whether labels stand side by side along the axis or on top of each other.
enum class AxisDirection { kHorizontal, kVertical };

// Which values an axis must show. kData: what is given, with a small margin at both ends.
// kDataToTicks: what is given, up to the next tick at both ends. kZeroToTicks: also zero; a
// logarithmic axis has none and takes this as kDataToTicks.
enum class AxisRange { kData, kDataToTicks, kZeroToTicks };

struct Tick {
  double position;  // 0 is the low end of the axis, 1 the high one
  std::string label;
};

// A laid-out axis. Labels are in units of 10^exponent (0 where they are written as powers).
struct Axis {
  Scale scale = Scale::kLinear;
  double low = 0;  // both ends as logarithms if the scale is logarithmic
  double high = 1;
  int exponent = 0;
  std::vector<Tick> ticks;

  // Where a drawable value lies: in [0, 1] if it was among those laid out for.
  double Position(double value) const;
};

struct AxisRequest {
  Scale scale = Scale::kLinear;
  AxisRange range = AxisRange::kData;
  AxisDirection direction = AxisDirection::kHorizontal;
  double length = 0;  // in the units of font_size
  double font_size = 0;
};

// Whether the axis can show `value`: finite, not beyond 1e300, and on a logarithmic scale at least
// 1e-300.
bool IsDrawable(Scale scale, double value);

// Ticks at 1, 2 or 5 times a power of ten, or at powers on a logarithmic scale that spans enough of
// them, as many as find room without their labels touching. Values that are not drawable are
// passed over; with none left, and with all equal, the axis shows some range around them.
Axis LayOutAxis(const AxisRequest& request, std::span<const double> values);

// The axis title: "parameters (×10⁹)", or the label alone when labels are plain numbers.
std::string AxisTitle(const Axis& axis, const std::string& label);

}  // namespace horizon
