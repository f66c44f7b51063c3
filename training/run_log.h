#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/log.h"
#include "model/model_spec.h"
#include "runtime/inference/evaluate.h"
#include "runtime/loop/training_run.h"
#include "training/plan_training.h"

namespace horizon {

// Logs the progress of a training run for people: at most one line every two seconds, but always
// one for the first step, the last step and each skipped step. One thread uses it. The arguments of
// the constructor must outlive it.
class RunLog {
 public:
  RunLog(Log& log, Clock& clock, const ModelSpec& spec, const TrainingPlan& planned);

  void OnStep(const StepProgress& progress);
  void OnEvaluation(int64_t step, const Evaluation& evaluation);

 private:
  Log& log_;
  Clock& clock_;
  const double predicted_tokens_per_second_;
  const double flops_per_token_;
  const double peak_flops_;   // per second, of the device
  Nanoseconds last_line_{0};  // time of the last line about a step
};

}  // namespace horizon
