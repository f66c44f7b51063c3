#include "experiments/signed_text.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace horizon {
namespace {

std::string Signed(double share, std::string_view unit) {
  const double percent = 100 * share;
  if (std::abs(percent) < 0.05) return absl::StrFormat("0.0 %s", std::string(unit));
  return absl::StrFormat("%+.1f %s", percent, std::string(unit));
}

}  // namespace

std::string SignedPercent(double share) { return Signed(share, "%"); }
std::string SignedPoints(double share) { return Signed(share, "points"); }

}  // namespace horizon
