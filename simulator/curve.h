#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/documents/enum_words.h"

namespace horizon {

// A figure of a machine and where it comes from. Every number in a profile says whether somebody
// measured it, a vendor printed it, it was fitted to published runs, or it is a guess.
enum class OriginKind { kMeasured, kVendor, kFitted, kAssumed };
std::span<const EnumWord<OriginKind>> WordsOf(OriginKind);

struct Origin {
  OriginKind kind = OriginKind::kAssumed;
  std::string source;   // data sheet, command, fitted rows, or the reason for a guess
  std::string when;     // measured: date
  int64_t repeats = 0;  // measured: how often
  double spread =
      0;  // measured: how far apart, as a share of the median (planner/profile/measure.h)
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Figure {
  double value = 0;
  Origin origin;
  friend bool operator==(const Figure&, const Figure&) = default;
};

// A rate that depends on a size: bytes/s by bytes of a copy, parameters/s by threads, ...
struct Curve {
  struct Point {
    double x = 0;
    double y = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::vector<Point> points;  // x ascending, x and y above zero; at least one
  Origin origin;

  // Straight lines between the points over log x; constant outside them. `x` above zero.
  double At(double x) const;
  double Highest() const;
  friend bool operator==(const Curve&, const Curve&) = default;
};

// The curve with every y multiplied.
Curve Scaled(Curve curve, double factor);

}  // namespace horizon
