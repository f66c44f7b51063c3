#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/documents/enum_words.h"

namespace horizon {

// Numbers about a machine, with where they come from. Every number in a profile says whether it was
// measured, published by the vendor, fitted to runs, or assumed.
enum class OriginKind { kMeasured, kVendor, kFitted, kAssumed };
std::span<const EnumWord<OriginKind>> WordsOf(OriginKind);

// Where a number comes from.
struct Origin {
  OriginKind kind = OriginKind::kAssumed;
  std::string source;   // data sheet, command, fitted rows, or the reason for an assumption
  std::string when;     // measured: the date
  int64_t repeats = 0;  // measured: the number of runs
  double spread = 0;    // measured: spread / median of the runs (planner/profile/measure.h)
  friend bool operator==(const Origin&, const Origin&) = default;
};

// A number with its origin.
struct Figure {
  double value = 0;
  Origin origin;
  friend bool operator==(const Figure&, const Figure&) = default;
};

// A rate that depends on a size: bytes/s by the bytes of a copy, parameters/s by threads, ...
struct Curve {
  struct Point {
    double x = 0;
    double y = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::vector<Point> points;  // x ascending, x and y above zero; at least one
  Origin origin;

  // Interpolates linearly over log x between the points; constant outside them. `x` is above zero.
  double At(double x) const;
  double Highest() const;
  friend bool operator==(const Curve&, const Curve&) = default;
};

// The curve with every y multiplied by `factor`.
Curve Scaled(Curve curve, double factor);

}  // namespace horizon
