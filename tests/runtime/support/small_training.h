#pragma once

#include <cstdint>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {

// A model of two layers and a job of 20 tokens: a step in a millisecond.
ModelSpec TinyLlama();
TrainingJob TinyJob();
// The same with attention and feed-forward of matrices that a chunk of ShardedPlan holds one of, so
// that under such a plan its layers are cut into four and three shards.
ModelSpec TinyShards();
StreamPlan ShardedPlan(const ModelSpec& spec, const TrainingJob& job);
// Trains TinyLlama (or `spec`) with batches drawn by step and micro-batch.
absl::StatusOr<TrainingCaseOutcome> TrainTiny(const ModelSpec& spec, const TrainingJob& job,
                                              const StreamPlan& plan, int64_t steps,
                                              const MakeDevice& device = OnHostDevice());

}  // namespace horizon
