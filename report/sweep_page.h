#pragma once

#include <string>
#include <vector>

#include "planner/sweep_plan.h"

namespace horizon {

// The answer of `horizon plan --sweep` as one HTML page: its table, and charts of tokens/s and
// memory over the swept values. `heading` says which model and which machine.
std::string SweepPage(const std::string& heading, const Sweep& sweep,
                      const std::vector<SweptPlan>& plans);

}  // namespace horizon
