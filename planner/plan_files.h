#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Reads and writes a plan together with the job it was made for: plan.json and, beside it,
// plan.job.json.

// The path of the job file: "runs/plan.json" -> "runs/plan.job.json", "runs/plan" ->
// "runs/plan.job.json".
std::string JobFileBeside(const std::string& plan_file);

// Writes both files, the job first. Each file is written completely or not at all.
absl::Status WritePlanFiles(Io& io, const std::string& plan_file, const StreamPlan& plan,
                            const TrainingJob& job);

// A plan and the job that it was made for.
struct PlanFiles {
  StreamPlan plan;
  TrainingJob job;
};
// Reads both files. With an empty `job_file` the job is read from the file beside the plan. Errors
// name the file, and for a missing job they say how to make one.
absl::StatusOr<PlanFiles> LoadPlanFiles(Io& io, const std::string& plan_file,
                                        const std::string& job_file);

}  // namespace horizon
