#include "runtime/execution/trainer.h"

#include <array>
#include <utility>

#include "common/failure_source.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {

std::span<const EnumWord<NonFinitePolicy>> WordsOf(NonFinitePolicy) {
  static constexpr std::array<EnumWord<NonFinitePolicy>, 2> kWords = {
      {{NonFinitePolicy::kStop, "stop"}, {NonFinitePolicy::kSkip, "skip"}}};
  return kWords;
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const ModelSpec& spec,
                                                         const TrainingJob& job,
                                                         const StreamPlan& plan,
                                                         const RunEnvironment& environment,
                                                         NonFinitePolicy non_finite) {
  ASSIGN_OR_RETURN(std::unique_ptr<ModelPass> pass,
                   ModelPass::Create({.spec = spec, .job = job, .plan = plan}, environment));
  return std::unique_ptr<Trainer>(new Trainer(std::move(pass), non_finite));
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const ModelSpec& spec, Schedule schedule,
                                                         const RunEnvironment& environment,
                                                         NonFinitePolicy non_finite) {
  ASSIGN_OR_RETURN(std::unique_ptr<ModelPass> pass,
                   ModelPass::Create(spec, std::move(schedule), environment));
  return std::unique_ptr<Trainer>(new Trainer(std::move(pass), non_finite));
}

absl::Status Trainer::CheckInput(const StepInput& input) const {
  const TrainingJob& job = schedule().job;
  const int64_t wanted = job.accumulation * job.micro_batch_tokens();
  if (static_cast<int64_t>(input.tokens.size()) != wanted) {
    return absl::InvalidArgumentError(StrCat("step ", input.number, " was given ",
                                             input.tokens.size(), " tokens; it takes ", wanted));
  }
  return absl::OkStatus();
}

absl::Status Trainer::NonFinite(const StepResult& result) const {
  const bool changed = schedule().job.optimizer_place == OptimizerPlace::kInBackward;
  return WithFailureSource(
      absl::OutOfRangeError(
          StrCat("step ", result.number, ": ", result.non_finite, " is not finite (loss ",
                 result.loss, ", gradient norm ", result.gradient_norm, "). ",
                 changed ? "With optimizer_place in_backward some weights have already changed."
                         : "No weight was changed by this step.",
                 " Try a lower learning rate, a longer warm-up, or --on-non-finite skip.")),
      FailureSource::kNumerics);
}

absl::Status Trainer::Train(int64_t first, int64_t last,
                            const std::function<absl::StatusOr<StepInput>(int64_t)>& input,
                            const std::function<absl::StatusOr<Next>(const Report&)>& on_step,
                            UpdateObserver* observer) {
  if (first > last) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, pass_->Start(observer));
  Clock& clock = pass_->environment().clock;
  const auto begin = [&](int64_t number) -> absl::Status {
    ASSIGN_OR_RETURN(StepInput next, input(number));
    next.number = number;
    next.ends_at_non_finite = non_finite_ == NonFinitePolicy::kStop;
    RETURN_IF_ERROR(CheckInput(next));
    return executor->Begin(number == first ? StepKind::kFirst : StepKind::kSteady, std::move(next));
  };
  RETURN_IF_ERROR(begin(first));
  int64_t begun = first;
  bool stopping = false;
  Nanoseconds over = clock.Now();
  while (executor->under_way() > 0) {
    if (!stopping && begun < last) RETURN_IF_ERROR(begin(++begun));
    ASSIGN_OR_RETURN(const StepResult result, executor->End());
    const Nanoseconds now = clock.Now();
    if (!result.non_finite.empty() && non_finite_ == NonFinitePolicy::kStop) {
      return NonFinite(result);
    }
    const Report report{.result = result,
                        .seconds = std::chrono::duration<double>(now - over).count(),
                        .timeline = executor->last_timeline(),
                        .phase = result.number == first ? schedule().first : schedule().steady};
    over = now;
    ASSIGN_OR_RETURN(const Next next, on_step(report));
    stopping |= next == Next::kStop;
  }
  RETURN_IF_ERROR(executor->Begin(StepKind::kDrain, {.number = begun}));
  return executor->End().status();
}

}  // namespace horizon
