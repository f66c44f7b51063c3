#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/largest_model.h"
#include "planner/profile/calibration.h"
#include "schedule/training_job.h"

namespace horizon {

// The largest models that a machine of the catalog could train with strategy `horizon`.
struct MachineLargest {
  std::string machine;
  StateFormat state_format = StateFormat::kFp32;
  LargestModels models;
};

// Finds them for every machine, in the catalog's order, with the job that horizon would run there:
// exact fp32 state, sequences of 1024 tokens, and the batch that the planner proposes. Uses all
// cores.
absl::StatusOr<std::vector<MachineLargest>> FindLargestByMachine(Io& io,
                                                                 const Calibration& calibration);

}  // namespace horizon
