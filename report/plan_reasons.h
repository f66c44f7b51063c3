#pragma once

#include <string>
#include <vector>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"

namespace horizon {

// Why a field of a plan is as it is: what its other values would have given.
struct PlanReason {
  std::string field;
  std::string text;  // "2 slots: 12 % slower; 8: does not fit"
};

// For every field of the plan that a planner chooses, by simulating its neighbours: takes a few
// dozen simulations. Errors of single alternatives are part of the text.
std::vector<PlanReason> ReasonsOf(const ModelSpec& spec, const TrainingJob& job,
                                  const StreamPlan& plan, const Setting& setting);

}  // namespace horizon
