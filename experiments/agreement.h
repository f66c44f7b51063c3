#pragma once

#include <string>
#include <string_view>

namespace horizon {

// How well a simulated figure agrees with the published one. Rows, claims and experiments are all
// judged by the limits below, which no config can widen, so that a figure that is 90 % off is
// called a miss wherever it is shown.
enum class Agreement {
  kHolds,   // at most 10 % off
  kClose,   // at most 20 % off
  kMisses,  // further off, or not a number
};
inline constexpr double kHoldsWithin = 0.10;
inline constexpr double kCloseWithin = 0.20;

// Judges a relative error of either sign: 0.05 is 5 % above the published figure.
Agreement AgreementOf(double error);

// Judges a change. For example, if throughput is claimed to fall by 20 % (claimed = -0.20) and
// falls by 10 % in the simulation (simulated = -0.10), half of the effect is missed. Changes that
// differ by at most one percentage point hold, however small the claimed change is.
Agreement AgreementOfChange(double claimed, double simulated);

// "holds", "close, off by 12.1 %" or "misses by 90.2 %". `distance` says how far off it is; it may
// be empty.
std::string VerdictText(Agreement agreement, std::string_view distance);

}  // namespace horizon
