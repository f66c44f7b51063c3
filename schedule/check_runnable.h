#pragma once

#include <string>

#include "absl/status/status.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Whether the runtime can execute a job of a model under a plan: the one answer that the search,
// the commands that plan and the runtime itself go by. It needs no schedule. OK, or
// FailedPrecondition with the reason and, where one exists, what to change: "strategy gemini exists
// to be simulated and compared with; run horizon, reference or resident".
//
// Whether the plan can be built at all (chunks that hold a matrix, a ring that holds a block) and
// whether it fits a machine are other questions: BuildSchedule's and the planner's. What is not
// runnable can be planned and simulated all the same; whoever shows such a plan says so.
absl::Status CheckRunnable(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);

// "planned only: REASON", or empty where CheckRunnable says OK: the line that every answer about
// something that cannot run begins with.
std::string PlannedOnly(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);

}  // namespace horizon
