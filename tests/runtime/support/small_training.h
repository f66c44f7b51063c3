#pragma once

#include <cstdint>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {

// A model of three layers and a job of 20 tokens, so small that a step takes about a millisecond.
ModelSpec TinyLlama();
TrainingJob TinyJob();
// The same model with matrices of such sizes that a chunk of ShardedPlan holds one of them: under
// that plan each attention stage is cut into four shards and each feed-forward stage into three.
ModelSpec TinyShards();
StreamPlan ShardedPlan(const ModelSpec& spec, const TrainingJob& job);
// Trains `spec`, such as TinyLlama, from random weights. Every batch is drawn from its step and
// micro-batch number.
absl::StatusOr<TrainingCaseOutcome> TrainTiny(const ModelSpec& spec, const TrainingJob& job,
                                              const StreamPlan& plan, int64_t steps,
                                              const MakeDevice& device = OnHostDevice());

}  // namespace horizon
