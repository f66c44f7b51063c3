#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/documents/json.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Checks whether the runtime can execute a job of a model under a plan. The plan search, the
// planning commands and the runtime all use this one check. It needs no schedule. Returns OK, or
// FailedPrecondition with the reason and, where possible, what to change: "strategy gemini is for
// comparison only: run horizon, reference or resident".
//
// It does not check whether the plan can be built (chunks that hold a matrix, a ring that holds a
// recompute block) or fits a machine; BuildSchedule and the planner do that. A plan that cannot run
// can still be planned and simulated; every command that shows such a plan says so.
absl::Status CheckRunnable(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);

// The message of CheckRunnable; empty where it returns OK.
std::string WhyPlannedOnly(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);
// "planned only: WHY\n": the first line of every answer about a plan that cannot run. Empty for an
// empty reason.
std::string PlannedOnlyLine(const std::string& why);
// Writes the same as members of the JSON object that is open: "runnable" and, where that is false,
// "planned_only" with the reason.
void WriteRunnable(const std::string& why, JsonWriter& writer);

}  // namespace horizon
