#include "runtime/trainer.h"

#include <array>
#include <utility>

#include "common/failure_source.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/rotary_frequencies.h"
#include "schedule/build_schedule.h"
#include "schedule/verify_schedule.h"

namespace horizon {

std::span<const EnumWord<NonFinitePolicy>> WordsOf(NonFinitePolicy) {
  static constexpr std::array<EnumWord<NonFinitePolicy>, 2> kWords = {
      {{NonFinitePolicy::kStop, "stop"}, {NonFinitePolicy::kSkip, "skip"}}};
  return kWords;
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const ModelSpec& spec,
                                                         const TrainingJob& job,
                                                         const StreamPlan& plan,
                                                         const Options& options) {
  std::unique_ptr<Trainer> trainer(new Trainer(spec, options));
  ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(spec, job, plan));
  RETURN_IF_ERROR(CheckRunnable(spec, schedule));
  RETURN_IF_ERROR(VerifySchedule(schedule));
  trainer->schedule_ = std::make_unique<Schedule>(std::move(schedule));
  ASSIGN_OR_RETURN(RunMemory memory, RunMemory::Create(*trainer->schedule_, options.device));
  trainer->memory_ = std::make_unique<RunMemory>(std::move(memory));
  trainer->store_ = std::make_unique<ParameterStore>(*trainer->schedule_, *trainer->memory_);
  trainer->bodies_ =
      std::make_unique<OperationBodies>(spec, *trainer->schedule_, *trainer->memory_);
  RETURN_IF_ERROR(trainer->FillRotaryTable());
  return trainer;
}

absl::Status Trainer::FillRotaryTable() {
  const RotaryFrequencies rotary = FrequenciesOf(spec_.rope, spec_.head_dim);
  const int64_t sequence = schedule_->job.sequence;
  std::vector<float> table(static_cast<size_t>(sequence * spec_.head_dim));
  horizon::FillRotaryTable(rotary.frequencies, rotary.factor, sequence, table);
  return memory_->Put(memory_->Find(BufferKind::kRotaryTable, 0), 0,
                      std::as_bytes(std::span(table)));
}

absl::Status Trainer::CheckInput(const StepInput& input) const {
  const TrainingJob& job = schedule_->job;
  const int64_t wanted = job.accumulation * job.micro_batch_tokens();
  if (static_cast<int64_t>(input.tokens.size()) != wanted) {
    return absl::InvalidArgumentError(StrCat("step ", input.number, " was given ",
                                             input.tokens.size(), " tokens; it takes ", wanted));
  }
  return absl::OkStatus();
}

absl::Status Trainer::NonFinite(const StepResult& result) const {
  const bool changed = schedule_->job.optimizer_place == OptimizerPlace::kInBackward;
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
                            const std::function<absl::StatusOr<Next>(const Report&)>& on_step) {
  if (first > last) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Executor> executor,
      Executor::Create(*schedule_, *bodies_, *memory_, options_.device, options_.kernels,
                       {.clock = options_.clock,
                        .stall_limit = options_.stall_limit,
                        .on_stall = options_.on_stall}));
  const auto begin = [&](int64_t number) -> absl::Status {
    ASSIGN_OR_RETURN(StepInput next, input(number));
    next.number = number;
    RETURN_IF_ERROR(CheckInput(next));
    return executor->Begin(number == first ? StepKind::kFirst : StepKind::kSteady, std::move(next));
  };
  RETURN_IF_ERROR(begin(first));
  int64_t begun = first;
  bool stopping = false;
  Nanoseconds over = options_.clock.Now();
  while (executor->under_way() > 0) {
    if (!stopping && begun < last) RETURN_IF_ERROR(begin(++begun));
    ASSIGN_OR_RETURN(const StepResult result, executor->End());
    const Nanoseconds now = options_.clock.Now();
    if (!result.non_finite.empty() && options_.non_finite == NonFinitePolicy::kStop) {
      return NonFinite(result);
    }
    const Report report{.result = result,
                        .seconds = std::chrono::duration<double>(now - over).count(),
                        .timeline = executor->last_timeline(),
                        .phase = result.number == first ? schedule_->first : schedule_->steady};
    over = now;
    ASSIGN_OR_RETURN(const Next next, on_step(report));
    stopping |= next == Next::kStop;
  }
  RETURN_IF_ERROR(executor->Begin(StepKind::kDrain, {.number = begun}));
  return executor->End().status();
}

}  // namespace horizon
