#include "training/run_log.h"

#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/stages.h"
#include "planner/plan_report.h"
#include "training/duration_text.h"

namespace horizon {
namespace {

constexpr Nanoseconds kLineInterval = std::chrono::seconds(2);

// 6 operations for each parameter that a token touches: the convention of the papers.
double FlopsPerToken(const ModelSpec& spec) {
  return 6.0 * static_cast<double>(CountParameters(ListStages(spec)).active);
}

double PeakFlops(const DeviceProfile& device) {
  return (device.kind == DeviceKind::kHost ? device.gemm_fp32 : device.gemm_bf16).Highest();
}

}  // namespace

RunLog::RunLog(Log& log, Clock& clock, const ModelSpec& spec, const TrainingPlan& planned)
    : log_(log),
      clock_(clock),
      predicted_tokens_per_second_(planned.prediction.tokens_per_second),
      flops_per_token_(FlopsPerToken(spec)),
      peak_flops_(PeakFlops(planned.profile.device)) {}

void RunLog::OnStep(const StepProgress& progress) {
  if (!progress.skipped.empty()) {
    log_.Warning(StrCat("step ", progress.step, " was skipped: ", progress.skipped,
                        "; no weight has changed"));
  }
  const bool due = progress.step == 1 || progress.step == progress.steps ||
                   clock_.Now() - last_line_ >= kLineInterval;
  if (!due) return;
  last_line_ = clock_.Now();
  const double flops = flops_per_token_ * progress.tokens_per_second;
  const double left = static_cast<double>(progress.steps - progress.step) * progress.seconds;
  log_.Info(StrCat(
      "step ", progress.step, "/", progress.steps, "  epoch ", ShortNumber(progress.epoch),
      "  loss ", ShortNumber(progress.loss), "  norm ", ShortNumber(progress.gradient_norm), "  ",
      ShortNumber(progress.tokens_per_second), " tokens/s (predicted ",
      ShortNumber(predicted_tokens_per_second_), ")  ", ShortNumber(100 * flops / peak_flops_),
      " % of peak  ", ToString(progress.host_bytes), "  ", DurationText(left), " left"));
}

void RunLog::OnEvaluation(int64_t step, const Evaluation& evaluation) {
  log_.Info(StrCat("step ", step, "  held-out loss ", ShortNumber(evaluation.loss()),
                   "  perplexity ", ShortNumber(evaluation.perplexity())));
}

}  // namespace horizon
