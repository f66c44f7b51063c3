#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/log.h"
#include "model/model_spec.h"
#include "runtime/inference/evaluate.h"
#include "runtime/loop/training_run.h"
#include "training/plan_training.h"

namespace horizon {

// The lines a person sees while steps run: at most one in two seconds, apart from the first step,
// the last, and those that were skipped. One thread; all that is passed in outlives it.
class RunLog {
 public:
  RunLog(Log& log, Clock& clock, const ModelSpec& spec, const TrainingPlan& planned);

  void OnStep(const StepNews& news);
  void OnEvaluation(int64_t step, const Evaluation& evaluation);

 private:
  Log& log_;
  Clock& clock_;
  const double predicted_tokens_per_second_;
  const double flops_per_token_;
  const double peak_flops_;  // of the device
  Nanoseconds told_{0};
};

}  // namespace horizon
