#include "common/text/percent.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

std::string Signed(double share, std::string_view unit) {
  const double percent = 100 * share;
  if (std::abs(percent) < 0.05) return StrCat("0.0 ", unit);
  return StrCat(absl::StrFormat("%+.1f ", percent), unit);
}

}  // namespace

std::string Percent(double share, int decimals) {
  return absl::StrFormat("%.*f %%", decimals, 100 * share);
}

std::string PercentChange(double change, int decimals) {
  return absl::StrFormat("%+.*f %%", decimals, 100 * change);
}

std::string ShortPercentChange(double change) {
  return StrCat(change < 0 ? "-" : "+", ShortNumber(std::abs(change) * 100), " %");
}

std::string SignedPercent(double share) { return Signed(share, "%"); }
std::string SignedPoints(double share) { return Signed(share, "points"); }

}  // namespace horizon
