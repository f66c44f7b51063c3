#pragma once

#include <string>
#include <vector>

#include "planner/changed_setups.h"
#include "planner/make_plan.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// What one change of the job or of the machine gains for a job that fits: `horizon plan --explain`.
// For example, with 8-bit moments a step of 5.9 s takes 4.1 s.
struct Gain {
  std::string what;     // "8-bit moments", "link x2 (52.0 GB/s a way)"
  std::string options;  // that make the change; empty for a purchase
  std::string cost;     // what it costs in exactness; empty for a purchase
  double step_seconds = 0;
  double tokens_per_second = 0;
  double gain = 0;  // of tokens/s: 1 is twice as fast
};

// Both plan the job again with each change, in a quick search; the batch is proposed again where
// `request` says so, and the state format stays what it is. The largest gain comes first, what
// gains less than kNoiseGain is left out, and so is what no longer fits. `answer` must be a
// feasible MakePlan(request).
std::vector<Gain> FindFreeGains(const PlanRequest& request, const PlanAnswer& answer);
// `others` are machines whose cards could be bought (PurchasesOf).
std::vector<Gain> FindPurchaseGains(const PlanRequest& request, const PlanAnswer& answer,
                                    const std::vector<HardwareProfile>& others);

}  // namespace horizon
