#include "runtime/execution/step_input.h"

#include <span>

#include "common/status_macros.h"
#include "runtime/execution/learning_rate.h"

namespace horizon {

absl::StatusOr<StepInput> ReadStepInput(const TrainingJob& job, int64_t step, TokenSource& data) {
  StepInput input{.number = step, .learning_rate = LearningRateAt(job, step)};
  const auto each = static_cast<size_t>(job.micro_batch_tokens());
  const auto batches = static_cast<size_t>(job.accumulation);
  input.tokens.resize(each * batches);
  for (size_t mb = 0; mb < batches; ++mb) {
    ASSIGN_OR_RETURN(const int64_t counted,
                     data.Fill(std::span(input.tokens).subspan(mb * each, each)));
    input.counted += counted;
  }
  return input;
}

}  // namespace horizon
