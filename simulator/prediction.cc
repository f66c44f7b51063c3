#include "simulator/prediction.h"

#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "model/stages.h"
#include "schedule/build/build_schedule.h"

namespace horizon {

PredictedRun PredictRun(const ModelSpec& spec, const Schedule& schedule, const Setting& setting) {
  const CostModel model(spec, schedule.job, schedule.plan, schedule.chunks, setting.profile,
                        setting.software, schedule.kind);
  PredictedRun run;
  run.steady = SimulateSteadyState(schedule, CostsOf(schedule, model));
  Prediction& prediction = run.prediction;
  prediction.step_seconds = run.steady.step_seconds();
  const bool train = schedule.kind == PassKind::kTrain;
  const int64_t batches = train ? schedule.job.accumulation : 1;
  const int64_t tokens = schedule.kind == PassKind::kDecode
                             ? schedule.job.micro_batch
                             : schedule.job.micro_batch_tokens() * batches;
  prediction.tokens_per_second = static_cast<double>(tokens) / prediction.step_seconds;
  const uint64_t active = CountParameters(schedule.chunks.stages).active;
  prediction.model_tflops = 6 * static_cast<double>(active) * prediction.tokens_per_second * 1e-12;
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    prediction.busy_share[static_cast<size_t>(lane.value)] = run.steady.busy_share(lane.value);
  }
  prediction.stalls = run.steady.stalls;
  prediction.memory = EstimateMemory(schedule.memory, setting.profile, setting.software);
  prediction.shortages = ShortagesOf(prediction.memory, setting.profile, setting.margin);
  prediction.operations =
      static_cast<int64_t>(schedule.steady.operations.empty() ? schedule.first.operations.size()
                                                              : schedule.steady.operations.size());
  return run;
}

absl::StatusOr<Prediction> Predict(const ModelSpec& spec, const TrainingJob& job,
                                   const StreamPlan& plan, const Setting& setting) {
  ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(spec, job, plan));
  return PredictRun(spec, schedule, setting).prediction;
}

std::string ToString(const RunLimit& limit) {
  return StrCat(limit.what, " (a step ", Percent(limit.gain), " shorter with ",
                Percent(kEnlarged - 1), " more of it)");
}

}  // namespace horizon
