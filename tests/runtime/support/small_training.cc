#include "tests/runtime/support/small_training.h"

#include "model/stages.h"
#include "schedule/chunk_table.h"

namespace horizon {

ModelSpec TinyLlama() {
  ModelSpec spec;
  spec.name = "tiny";
  spec.hidden = 12;
  spec.intermediate = 20;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.head_dim = 6;
  spec.vocab = 40;
  spec.max_positions = 64;
  spec.layers.resize(3);
  return spec;
}

ModelSpec TinyShards() {
  ModelSpec spec = TinyLlama();
  spec.heads = spec.kv_heads = 6;
  spec.intermediate = 40;
  return spec;
}

StreamPlan ShardedPlan(const ModelSpec& spec, const TrainingJob& job) {
  StreamPlan plan;
  plan.chunk_bytes = LeastChunkBytes(ListStages(spec), job);
  return plan;
}

TrainingJob TinyJob() {
  TrainingJob job;
  job.sequence = 10;
  job.micro_batch = 2;
  job.learning_rate = 3e-3;
  return job;
}

absl::StatusOr<TrainingCaseOutcome> TrainTiny(const ModelSpec& spec, const TrainingJob& job,
                                              const StreamPlan& plan, int64_t steps,
                                              const MakeDevice& device) {
  return RunTrainingCase(
      {.spec = spec,
       .job = job,
       .plan = plan,
       .source = RandomSource(spec, 3),
       .batch = [&](int64_t step,
                    int64_t mb) { return RandomTokens(spec, job, 10 * step + mb, 3); },
       .steps = steps,
       .device = device});
}

}  // namespace horizon
