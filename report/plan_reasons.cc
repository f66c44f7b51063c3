#include "report/plan_reasons.h"

#include <cmath>

#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "planner/explain_plan.h"
#include "planner/plan_space.h"

namespace horizon {
namespace {

std::string Against(const Alternative& one) {
  if (!one.possible) return "cannot be built";
  std::string text = "as fast";
  // Less than this is below what any prediction can tell.
  if (std::abs(one.slower) >= 0.0005) {
    text = StrCat(Percent(std::abs(one.slower), 1), one.slower > 0 ? " slower" : " faster");
  }
  if (!one.fits) text += ", does not fit";
  return text;
}

}  // namespace

std::vector<PlanReason> ReasonsOf(const ModelSpec& spec, const TrainingJob& job,
                                  const StreamPlan& plan, const Setting& setting) {
  StreamPlan fixed;
  fixed.strategy = plan.strategy;
  const PlanSpace space = SpaceFor(spec, job, setting.profile, fixed, {});
  std::vector<PlanReason> reasons;
  for (const Alternative& one : ExplainPlan(spec, job, plan, space, setting)) {
    if (reasons.empty() || reasons.back().field != one.field) {
      reasons.push_back({.field = one.field});
    }
    if (one.chosen) continue;
    std::string& text = reasons.back().text;
    text += StrCat(text.empty() ? "" : "; ", one.value, ": ", Against(one));
  }
  return reasons;
}

}  // namespace horizon
