#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/documents/json.h"
#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Whether the runtime can execute a job of a model under a plan: the one answer that the search,
// the commands that plan and the runtime itself go by. It needs no schedule. OK, or
// FailedPrecondition with the reason and, where one exists, what to change: "strategy gemini is for
// comparison only: run horizon, reference or resident".
//
// Whether the plan can be built at all (chunks that hold a matrix, a ring that holds a block) and
// whether it fits a machine are other questions: BuildSchedule's and the planner's. What is not
// runnable can be planned and simulated all the same; whoever shows such a plan says so.
absl::Status CheckRunnable(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);

// CheckRunnable's reason; empty where it says OK.
std::string WhyPlannedOnly(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);
// "planned only: WHY\n", the line that every answer about something that cannot run begins with;
// nothing for an empty reason.
std::string PlannedOnlyLine(const std::string& why);
// The same as members of the object that is being written: "runnable" and, where that is false,
// "planned_only" with the reason.
void WriteRunnable(const std::string& why, JsonWriter& writer);

}  // namespace horizon
