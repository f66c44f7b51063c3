#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// A plan on disk, and the job it was made for beside it: plan.json and plan.job.json.

// "runs/plan.json" -> "runs/plan.job.json"; without ".json" the ending is added.
std::string JobFileBeside(const std::string& plan_file);

// Both files, each whole or not at all.
absl::Status WritePlanFiles(Io& io, const std::string& plan_file, const StreamPlan& plan,
                            const TrainingJob& job);

struct PlanFiles {
  StreamPlan plan;
  TrainingJob job;
};
// `job_file` empty: the file beside the plan. Errors name the file, and for a missing job how to
// make one.
absl::StatusOr<PlanFiles> LoadPlanFiles(Io& io, const std::string& plan_file,
                                        const std::string& job_file);

}  // namespace horizon
