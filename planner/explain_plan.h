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

// What each choice of a plan gains over its neighbours: one field changed at a time, everything
// else as chosen.
struct Alternative {
  std::string field;
  std::string value;
  bool chosen = false;
  bool possible = true;  // false: such a plan cannot be built
  bool fits = true;
  double step_seconds = 0;
  double slower = 0;  // relative to the chosen plan: 0.05 is 5 % slower, below 0 faster
  Bytes device_bytes;
};

// The alternatives of every field for which `space` has more than one value, field by field, the
// chosen value among them.
std::vector<Alternative> ExplainPlan(const ModelSpec& spec, const TrainingJob& job,
                                     const StreamPlan& plan, const PlanSpace& space,
                                     const Setting& setting);

}  // namespace horizon
