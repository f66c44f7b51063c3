#include "presentation/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/text/str_cat.h"
#include "presentation/text_width.h"

namespace horizon {
namespace {

constexpr double kLargest = 1e300;
constexpr double kSmallest = 1e-300;
// A range below this share of its values has ticks that differ only in the last digits of a double.
constexpr double kEqualShare = 1e-9;
constexpr int kLongestStride = 2048;  // more powers of two than lie between kSmallest and kLargest
constexpr int kMostSteps = 8;         // between the ends of a linear axis
constexpr double kMargin = 0.04;  // of the range, at each end of an axis that does not end at ticks

struct Range {
  double low;
  double high;
  double length() const { return high - low; }
};

double Transformed(Scale scale, double value) {
  switch (scale) {
    case Scale::kLinear:
      return value;
    case Scale::kLog2:
      return std::log2(value);
    case Scale::kLog10:
      return std::log10(value);
  }
  return value;
}

double Restored(Scale scale, double value) {
  switch (scale) {
    case Scale::kLinear:
      return value;
    case Scale::kLog2:
      return std::exp2(value);
    case Scale::kLog10:
      return std::pow(10.0, value);
  }
  return value;
}

Range RangeOf(const AxisRequest& request, std::span<const double> values) {
  Range range{.low = std::numeric_limits<double>::infinity(),
              .high = -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!IsDrawable(request.scale, value)) continue;
    range.low = std::min(range.low, Transformed(request.scale, value));
    range.high = std::max(range.high, Transformed(request.scale, value));
  }
  const bool is_linear = request.scale == Scale::kLinear;
  if (range.low > range.high) return is_linear ? Range{0, 1} : Range{0, 3};
  if (is_linear && request.range == AxisRange::kZeroToTicks) {
    range = {.low = std::min(range.low, 0.0), .high = std::max(range.high, 0.0)};
  }
  const double magnitude = std::max(std::abs(range.low), std::abs(range.high));
  if (range.length() > std::max(magnitude * kEqualShare, kSmallest)) return range;
  if (!is_linear) return {range.low - 1, range.high + 1};
  if (magnitude <= kSmallest) {
    return request.range == AxisRange::kZeroToTicks ? Range{0, 1} : Range{-1, 1};
  }
  return {range.low - 0.1 * magnitude, range.high + 0.1 * magnitude};
}

std::string Superscript(int number) {
  static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (const char c : StrCat(number)) text += c == '-' ? "⁻" : kDigits[c - '0'];
  return text;
}

std::string WithThousands(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t at = point; at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

// mantissa * 10^power with mantissa 1, 2 or 5.
struct Step {
  int mantissa;
  int power;
  double value() const { return mantissa * std::pow(10.0, power); }
};

// The smallest step not below `least`, which is positive.
Step StepAtLeast(double least) {
  const int power = static_cast<int>(std::floor(std::log10(least)));
  // The logarithm may be off by a rounding: a step a hair too small is as good.
  const double share = least / std::pow(10.0, power) * (1 - 1e-9);
  if (share <= 1) return {1, power};
  if (share <= 2) return {2, power};
  if (share <= 5) return {5, power};
  return {1, power + 1};
}

// The unit 10^(3n) in which labels up to `magnitude` are short.
int LabelExponent(double magnitude) {
  if (magnitude >= 1e-2 && magnitude < 1e6) return 0;
  return 3 * static_cast<int>(std::floor(std::log10(magnitude) / 3 + 1e-9));
}

// Ticks in whole steps over `range`, whose ends are values; also sets the labels' exponent.
void AddSteps(Axis& axis, const Range& range, const Step& step) {
  const double width = step.value();
  axis.exponent = LabelExponent(std::max(std::abs(range.low), std::abs(range.high)));
  const int power = step.power - axis.exponent;
  const auto first = static_cast<int64_t>(std::ceil(range.low / width - 1e-6));
  const auto last = static_cast<int64_t>(std::floor(range.high / width + 1e-6));
  for (int64_t i = first; i <= last; ++i) {
    const double label = static_cast<double>(i) * step.mantissa * std::pow(10.0, power);
    axis.ticks.push_back(
        {.position = axis.Position(static_cast<double>(i) * width),
         .label = WithThousands(absl::StrFormat("%.*f", std::max(0, -power), label))});
  }
}

bool LabelsFit(const AxisRequest& request, const std::vector<Tick>& ticks) {
  for (size_t i = 1; i < ticks.size(); ++i) {
    const double apart = (ticks[i].position - ticks[i - 1].position) * request.length;
    const double needed = request.direction == AxisDirection::kVertical
                              ? 2 * request.font_size
                              : (TextWidth(ticks[i].label, request.font_size) +
                                 TextWidth(ticks[i - 1].label, request.font_size)) /
                                        2 +
                                    request.font_size;
    if (apart < needed) return false;
  }
  return true;
}

Range WithMargin(const Range& range) {
  return {range.low - kMargin * range.length(), range.high + kMargin * range.length()};
}

// Counts (layers, cores) on a horizontal axis have nothing to show between two whole numbers.
bool AreCounts(const AxisRequest& request, std::span<const double> values) {
  return request.direction == AxisDirection::kHorizontal && !values.empty() &&
         std::all_of(values.begin(), values.end(),
                     [](double value) { return value == std::floor(value); });
}

Axis LinearAxis(const AxisRequest& request, const Range& range, double least_step) {
  Axis axis;
  for (int count = kMostSteps; count >= 1; --count) {
    const Step step = StepAtLeast(std::max(range.length() / count, least_step));
    Range shown = WithMargin(range);
    if (request.range != AxisRange::kData) {
      const double width = step.value();
      shown = {std::floor(range.low / width + 1e-6) * width,
               std::ceil(range.high / width - 1e-6) * width};
    }
    axis = {.scale = Scale::kLinear, .low = shown.low, .high = shown.high};
    AddSteps(axis, shown, step);
    if (LabelsFit(request, axis.ticks)) return axis;
  }
  axis.ticks.resize(std::min<size_t>(axis.ticks.size(), 1));
  return axis;
}

// Labels on a logarithmic axis: plain numbers while all are short, else 2²⁰ and 5×10⁹.
std::string PowerLabel(Scale scale, int mantissa, int power, bool is_plain) {
  if (!is_plain) {
    return StrCat(mantissa == 1 ? "" : StrCat(mantissa, "×"), scale == Scale::kLog2 ? 2 : 10,
                  Superscript(power));
  }
  const double value = mantissa * Restored(scale, power);
  if (value >= 1) return WithThousands(absl::StrFormat("%.0f", value));
  if (scale == Scale::kLog10) return absl::StrFormat("%.*f", -power, value);
  return StrCat(value);
}

bool IsPlain(Scale scale, int first, int last) {
  return scale == Scale::kLog2 ? first >= -4 && last <= 19 : first >= -3 && last <= 5;
}

// These multiples of every stride-th power inside the axis.
std::vector<Tick> PowerTicks(const Axis& axis, int stride, std::span<const int> mantissas) {
  const int first = static_cast<int>(std::floor(axis.low / stride)) * stride;
  const int last = static_cast<int>(std::floor(axis.high / stride + 1e-9)) * stride;
  const bool is_plain = IsPlain(axis.scale, first, last);
  std::vector<Tick> ticks;
  for (int power = first; power <= last; power += stride) {
    for (const int mantissa : mantissas) {
      const double place = power + Transformed(axis.scale, mantissa);
      if (place < axis.low - 1e-9 || place > axis.high + 1e-9) continue;
      ticks.push_back({.position = (place - axis.low) / (axis.high - axis.low),
                       .label = PowerLabel(axis.scale, mantissa, power, is_plain)});
    }
  }
  return ticks;
}

// Less than two powers in sight: linear steps, at their logarithmic places.
Axis WithStepsOnLogAxis(const AxisRequest& request, Axis axis) {
  const Range values{Restored(axis.scale, axis.low), Restored(axis.scale, axis.high)};
  for (int count = kMostSteps; count >= 1; --count) {
    axis.ticks.clear();
    AddSteps(axis, values, StepAtLeast(values.length() / count));
    if (LabelsFit(request, axis.ticks)) return axis;
  }
  axis.ticks.resize(std::min<size_t>(axis.ticks.size(), 1));
  return axis;
}

Axis LogAxis(const AxisRequest& request, const Range& range) {
  const Range whole{std::floor(range.low + 1e-9), std::ceil(range.high - 1e-9)};
  // Ends at powers would leave a narrow range in a corner of its axis.
  const bool to_powers = request.range != AxisRange::kData && whole.length() <= 2 * range.length();
  const Range shown = to_powers ? whole : WithMargin(range);
  Axis axis{.scale = request.scale, .low = shown.low, .high = shown.high};
  constexpr std::array<int, 3> kMantissas = {1, 2, 5};
  if (axis.scale == Scale::kLog10 && axis.high - axis.low <= 3) {
    axis.ticks = PowerTicks(axis, 1, kMantissas);
    if (axis.ticks.size() > 2 && LabelsFit(request, axis.ticks)) return axis;
  }
  for (int stride = 1; stride <= kLongestStride; ++stride) {
    axis.ticks = PowerTicks(axis, stride, std::span(kMantissas).first(1));
    if (stride == 1 && axis.ticks.size() < 2) return WithStepsOnLogAxis(request, axis);
    if (LabelsFit(request, axis.ticks)) break;
  }
  return axis;
}

}  // namespace

double Axis::Position(double value) const {
  return (Transformed(scale, value) - low) / (high - low);
}

bool IsDrawable(Scale scale, double value) {
  if (!std::isfinite(value) || std::abs(value) > kLargest) return false;
  return scale == Scale::kLinear || value >= kSmallest;
}

Axis LayOutAxis(const AxisRequest& request, std::span<const double> values) {
  const Range range = RangeOf(request, values);
  if (request.scale != Scale::kLinear) return LogAxis(request, range);
  return LinearAxis(request, range, AreCounts(request, values) ? 1 : 0);
}

std::string AxisTitle(const Axis& axis, const std::string& label) {
  if (axis.exponent == 0) return label;
  const std::string unit = StrCat("×10", Superscript(axis.exponent));
  return label.empty() ? unit : StrCat(label, " (", unit, ")");
}

}  // namespace horizon
