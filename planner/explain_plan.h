#pragma once

#include <string>
#include <vector>

#include "common/units.h"
#include "model/model_spec.h"
#include "planner/plan_space.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"

namespace horizon {

// Shows what each choice of a plan gains: one field is changed at a time, and everything else stays
// as chosen. An Alternative is the plan with one such change.
struct Alternative {
  std::string field;
  std::string value;
  bool chosen = false;   // this is the value of the plan itself
  bool possible = true;  // false: such a plan cannot be built
  bool fits = true;
  double step_seconds = 0;
  double slower = 0;  // relative to the chosen plan: 0.05 is 5 % slower, negative is faster
  Bytes device_bytes;
};

// Simulates the alternatives of every field for which `space` has more than one value, field by
// field, including the chosen value.
std::vector<Alternative> ExplainPlan(const ModelSpec& spec, const TrainingJob& job,
                                     const StreamPlan& plan, const PlanSpace& space,
                                     const Setting& setting);

}  // namespace horizon
