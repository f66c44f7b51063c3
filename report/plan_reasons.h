#pragma once

#include <string>
#include <vector>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"

namespace horizon {

// Why a field of a plan has its value: the predicted effect of its other values.
struct PlanReason {
  std::string field;
  std::string text;  // "2 slots: 12 % slower; 8: does not fit"
};

// Finds the reason for every field that the planner chooses, by simulating its neighbouring values.
// This takes a few dozen simulations. If an alternative fails, its error is part of the text.
std::vector<PlanReason> ReasonsOf(const ModelSpec& spec, const TrainingJob& job,
                                  const StreamPlan& plan, const Setting& setting);

}  // namespace horizon
