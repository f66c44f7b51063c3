#include "experiments/agreement.h"

#include <cmath>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr double kSamePoints = 0.01;
// An error computed from decimal figures may lie a rounding above the limit that it meets.
constexpr double kRounding = 1e-9;

}  // namespace

Agreement AgreementOf(double error) {
  const double size = std::abs(error);
  if (size <= kHoldsWithin + kRounding) return Agreement::kHolds;
  // Not "size > limit": what is not a number misses.
  return size <= kCloseWithin + kRounding ? Agreement::kClose : Agreement::kMisses;
}

Agreement AgreementOfChange(double claimed, double simulated) {
  const double points = std::abs(simulated - claimed);
  if (points <= kSamePoints + kRounding) return Agreement::kHolds;
  return claimed == 0 ? Agreement::kMisses : AgreementOf(points / claimed);
}

std::string VerdictText(Agreement agreement, std::string_view distance) {
  switch (agreement) {
    case Agreement::kHolds:
      return "holds";
    case Agreement::kClose:
      return distance.empty() ? "close" : StrCat("close, off by ", distance);
    case Agreement::kMisses:
      break;
  }
  return distance.empty() ? "misses" : StrCat("misses by ", distance);
}

}  // namespace horizon
