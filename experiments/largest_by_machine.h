#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/largest_model.h"
#include "planner/profile/calibration.h"
#include "schedule/training_job.h"

namespace horizon {

// The largest model each machine of the catalog could train with strategy `horizon`.
struct MachineLargest {
  std::string machine;
  StateFormat state_format = StateFormat::kFp32;
  LargestModels models;
};

// Every machine with the job horizon would run there (exact fp32 state, sequences of 1024), the
// batch as the planner proposes it; in the catalog's order. Uses all cores.
absl::StatusOr<std::vector<MachineLargest>> FindLargestByMachine(Io& io,
                                                                 const Calibration& calibration);

}  // namespace horizon
