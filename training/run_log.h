#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/log.h"
#include "common/progress_line.h"
#include "model/model_spec.h"
#include "runtime/inference/evaluate.h"
#include "runtime/loop/training_run.h"
#include "training/plan_training.h"

namespace horizon {

// Shows the progress of a training run to people: a line that is redrawn in place on a terminal,
// and messages elsewhere (ProgressLine). The first and the last step always have one. Skipped steps
// and evaluations are messages of their own. One thread uses it. The arguments of the constructor
// must outlive it.
class RunLog {
 public:
  RunLog(Log& log, Clock& clock, const ModelSpec& spec, const TrainingPlan& planned);

  void OnStep(const StepProgress& progress);
  void OnEvaluation(int64_t step, const Evaluation& evaluation);

 private:
  Log& log_;
  const double predicted_tokens_per_second_;
  const double flops_per_token_;
  const double peak_flops_;  // per second, of the device
  ProgressLine line_;
};

}  // namespace horizon
