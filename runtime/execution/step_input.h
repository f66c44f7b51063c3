#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/data/token_source.h"
#include "runtime/execution/step.h"
#include "schedule/training_job.h"

namespace horizon {

// Reads the input of a step: the next rows of the data, micro-batch by micro-batch, and the
// learning rate of that step. Errors are the source's.
absl::StatusOr<StepInput> ReadStepInput(const TrainingJob& job, int64_t step, TokenSource& data);

}  // namespace horizon
