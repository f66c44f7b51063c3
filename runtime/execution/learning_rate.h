#pragma once

#include <cstdint>

#include "schedule/training_job.h"

namespace horizon {

// The learning rate of update `step`, counted from 1, as transformers' get_{constant, linear,
// cosine}_schedule_with_warmup give it to the optimizer: with d = step - 1 updates done,
// (a job with a schedule_start, at which a new schedule has begun: d and `steps` are counted from
// there, and earlier steps have the rate of its first one)
//   d < warmup_steps:  learning_rate x d / warmup_steps (so the first update of a warm-up is 0),
//   constant after it: learning_rate,
//   linear after it:   learning_rate x (steps - d) / (steps - warmup_steps),
//   cosine after it:   learning_rate x (1 + cos(pi (d - warmup_steps) / (steps - warmup_steps)))
//   / 2.
// Both curves would reach 0 at the update after the last one. A warm-up longer than the run is
// never left. Pure.
double LearningRateAt(const TrainingJob& job, int64_t step);

}  // namespace horizon
