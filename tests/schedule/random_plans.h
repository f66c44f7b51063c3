#pragma once

#include <rapidcheck.h>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Generators of random models, jobs and plans for property tests.

// A model, a job and a plan that are valid together.
struct RandomCase {
  ModelSpec spec;
  TrainingJob job;
  StreamPlan plan;
};

rc::Gen<ModelSpec> RandomModel();
// A case of strategy `horizon`, with every other field random.
rc::Gen<RandomCase> RandomHorizonCase();
// A case of any strategy. Fields that the strategy prescribes have the prescribed values.
rc::Gen<RandomCase> RandomAnyCase();

// Freezes some tensors of a case: a random set, or a set that people use (no embeddings, norms
// only, the last layers, the head, ...).
void FreezeSome(RandomCase& random);
rc::Gen<RandomCase> RandomFrozenCase();

void showValue(const RandomCase& value, std::ostream& os);

// A dense model that is small enough to compute by hand: hidden size 8, one head, by default 2
// layers.
ModelSpec TinyModel(int64_t layers = 2);

}  // namespace horizon
