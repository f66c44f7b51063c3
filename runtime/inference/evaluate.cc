#include "runtime/inference/evaluate.h"

#include <cmath>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {

double Evaluation::perplexity() const { return std::exp(loss()); }

absl::StatusOr<Evaluation> Evaluate(const ModelPass& pass, const NextMicroBatch& next,
                                    const OnTokenLosses& on_losses) {
  CHECK(pass.schedule().kind == PassKind::kEvaluate);
  const int64_t wanted = pass.schedule().job.micro_batch_tokens();
  ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, pass.Start());
  Evaluation evaluation;
  std::deque<std::vector<TokenRecord>> under_way;
  int64_t begun = 0;
  const auto begin = [&]() -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(std::optional<std::vector<TokenRecord>> batch, next());
    if (!batch.has_value()) return false;
    if (static_cast<int64_t>(batch->size()) != wanted) {
      return absl::InvalidArgumentError(StrCat("a micro-batch of ", batch->size(),
                                               " tokens was given to evaluate; it takes ", wanted));
    }
    under_way.push_back(*batch);
    RETURN_IF_ERROR(executor->Begin(begun == 0 ? StepKind::kFirst : StepKind::kSteady,
                                    {.number = begun + 1, .tokens = *std::move(batch)}));
    ++begun;
    return true;
  };
  ASSIGN_OR_RETURN(bool more, begin());
  while (!under_way.empty()) {
    if (more) {
      ASSIGN_OR_RETURN(more, begin());
    }
    ASSIGN_OR_RETURN(const StepResult result, executor->End());
    evaluation.loss_sum += result.loss;
    evaluation.counted += result.counted;
    if (on_losses) on_losses(under_way.front(), result.token_losses);
    under_way.pop_front();
  }
  return evaluation;
}

}  // namespace horizon
