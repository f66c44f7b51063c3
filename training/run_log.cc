#include "training/run_log.h"

#include <vector>

#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/stages.h"
#include "planner/plan_report.h"
#include "training/duration_text.h"

namespace horizon {
namespace {

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
      predicted_tokens_per_second_(planned.prediction.tokens_per_second),
      flops_per_token_(FlopsPerToken(spec)),
      peak_flops_(PeakFlops(planned.profile.device)),
      line_(log, clock) {}

void RunLog::OnStep(const StepProgress& progress) {
  if (!progress.skipped.empty()) {
    log_.Warning(StrCat("step ", progress.step, " was skipped: ", progress.skipped,
                        "; no weight has changed"));
  }
  const bool last = progress.step == progress.steps;
  if (progress.step != 1 && !last && !line_.IsDue()) return;
  const double flops = flops_per_token_ * progress.tokens_per_second;
  const double left = static_cast<double>(progress.steps - progress.step) * progress.seconds;
  // What a narrow terminal can do without has the higher ranks.
  const std::vector<LinePart> parts = {
      {StrCat("step ", progress.step, "/", progress.steps)},
      {StrCat("  epoch ", ShortNumber(progress.epoch)), 3},
      {StrCat("  loss ", ShortNumber(progress.loss))},
      {StrCat("  norm ", ShortNumber(progress.gradient_norm)), 4},
      {StrCat("  ", ShortNumber(progress.tokens_per_second), " tokens/s"), 1},
      {StrCat(" (predicted ", ShortNumber(predicted_tokens_per_second_), ")"), 2},
      {StrCat("  ", ShortNumber(100 * flops / peak_flops_), " % of peak"), 6},
      {StrCat("  ", ToString(progress.host_bytes)), 5},
      {StrCat("  ", DurationText(left), " left")}};
  if (last) return line_.Finish(parts);
  line_.Show(parts);
}

void RunLog::OnEvaluation(int64_t step, const Evaluation& evaluation) {
  log_.Info(StrCat("step ", step, "  held-out loss ", ShortNumber(evaluation.loss()),
                   "  perplexity ", ShortNumber(evaluation.perplexity())));
}

}  // namespace horizon
