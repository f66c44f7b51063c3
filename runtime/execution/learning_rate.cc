#include "runtime/execution/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/check.h"

namespace horizon {

double LearningRateAt(const TrainingJob& job, int64_t step) {
  CHECK(step >= 1);
  const int64_t steps = job.steps - job.schedule_start;
  const int64_t done = std::max<int64_t>(0, step - 1 - job.schedule_start);
  const auto part = [](int64_t numerator, int64_t denominator) {
    return static_cast<double>(numerator) / static_cast<double>(std::max<int64_t>(1, denominator));
  };
  if (done < job.warmup_steps) return job.learning_rate * part(done, job.warmup_steps);
  const int64_t length = steps - job.warmup_steps;
  switch (job.learning_rate_schedule) {
    case LearningRateSchedule::kLinear:
      return job.learning_rate * std::max(0.0, part(steps - done, length));
    case LearningRateSchedule::kCosine: {
      const double progress = part(done - job.warmup_steps, length);
      return job.learning_rate * std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * progress)));
    }
    case LearningRateSchedule::kConstant:
      break;
  }
  return job.learning_rate;
}

}  // namespace horizon
