#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Reads a job from a file: YAML if the name ends with .yaml or .yml, else JSON. Errors of ReadJob
// and of reading the file.
absl::StatusOr<TrainingJob> LoadJob(Io& io, const std::string& path);
// Reads a plan from a JSON file. Errors of ReadPlan and of reading the file.
absl::StatusOr<StreamPlan> LoadPlan(Io& io, const std::string& path);

}  // namespace horizon
