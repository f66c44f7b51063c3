#pragma once

#include <string>
#include <vector>

#include "planner/largest_model.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The answer of `horizon max-model`, as text for people and as JSON for programs.
struct LargestReport {
  const HardwareProfile& profile;
  // One for each state format that was asked about, the most exact first. Changes are measured
  // against the first one for which anything fits.
  const std::vector<LargestByState>& largest;
  const std::vector<Change>& free_changes;
  const std::vector<Change>& purchases;
};

// The first entry of `largest` for which a model fits, or else the first one.
const LargestByState& MostExact(const std::vector<LargestByState>& largest);

std::string LargestReportText(const LargestReport& report);
// {"state", "largest": {"layers", "parameters", ...}, "largest_size", "limit", "states": [the same
// for each format], "free_changes", "purchases"}.
std::string LargestReportJson(const LargestReport& report);

}  // namespace horizon
