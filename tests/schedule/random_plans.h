#pragma once

#include <rapidcheck.h>

#include "model/model_spec.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// A model, a job and a plan that go together, as random as the rules allow.
struct RandomCase {
  ModelSpec spec;
  TrainingJob job;
  StreamPlan plan;
};

rc::Gen<ModelSpec> RandomModel();
// Strategy `horizon` with every other field random.
rc::Gen<RandomCase> RandomHorizonCase();
// Any strategy; fields a strategy prescribes are set as it wants them.
rc::Gen<RandomCase> RandomAnyCase();

// The same with some tensors frozen: a random set, or one that people use (no embeddings, norms
// alone, the last layers, the head, ...).
void FreezeSome(RandomCase& random);
rc::Gen<RandomCase> RandomFrozenCase();

void showValue(const RandomCase& value, std::ostream& os);

// A dense model small enough to solve by hand: hidden 8, one head, 2-layer default.
ModelSpec TinyModel(int64_t layers = 2);

}  // namespace horizon
