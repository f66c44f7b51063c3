#include "planner/planned_job.h"

namespace horizon {

TrainingJob JobFor(const HardwareProfile& profile, Strategy strategy) {
  TrainingJob job;
  PlaceOn(profile.device.kind, job);
  if (strategy == Strategy::kHorizon) return job;
  job.optimizer_place = OptimizerPlace::kAfterStep;
  if (strategy == Strategy::kReference || strategy == Strategy::kResident) {
    job.state_format = StateFormat::kBf16Weights;
  }
  if (strategy != Strategy::kResident) job.gradient_type = NumberType::kFp32;
  return job;
}

TrainingJob AsPublished(TrainingJob job) {
  job.gradient_type = NumberType::kBf16;
  return job;
}

StreamPlan PlanFor(Strategy strategy) {
  StreamPlan plan{.strategy = strategy};
  if (strategy == Strategy::kHorizon) return plan;
  plan.embedding_home = EmbeddingHome::kDevice;
  if (strategy == Strategy::kReference) {
    plan.anchor_interval = 4;
    plan.gradient_slabs = 12;
  }
  return plan;
}

}  // namespace horizon
