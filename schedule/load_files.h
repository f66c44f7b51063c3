#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// A job from a file: YAML if the name ends with .yaml or .yml, else JSON.
absl::StatusOr<TrainingJob> LoadJob(Io& io, const std::string& path);
// A plan from a JSON file.
absl::StatusOr<StreamPlan> LoadPlan(Io& io, const std::string& path);

}  // namespace horizon
