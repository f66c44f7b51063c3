#include "simulator/prediction.h"

#include <algorithm>

#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "model/stages.h"
#include "schedule/build/build_schedule.h"

namespace horizon {
namespace {

constexpr std::string_view kLaneLimits[kLaneCount] = {
    "link to the device", "compute", "link from the device", "host passes", "optimizer"};

}  // namespace

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

std::vector<RunLimit> LimitsOf(const Prediction& prediction, const HardwareProfile& profile,
                               size_t most) {
  std::vector<RunLimit> limits;
  limits.reserve(kLaneCount + 3);  // and three memories
  for (int lane = 0; lane < kLaneCount; ++lane) {
    limits.push_back(
        {.what = std::string(kLaneLimits[lane]), .share = prediction.busy_share[lane]});
  }
  const auto fill = [&](Limit limit, Bytes bytes) {
    limits.push_back(
        {.what = std::string(ToString(limit)),
         .share = static_cast<double>(bytes) / static_cast<double>(Available(profile, limit, 0)),
         .is_memory = true});
  };
  fill(Limit::kHostMemory, prediction.memory.host_bytes());
  fill(Limit::kDeviceMemory, prediction.memory.device_bytes());
  fill(Limit::kPageLocking, prediction.memory.pinned_bytes());
  const auto tightness = [](const RunLimit& limit) {
    return limit.is_memory && limit.share < kTightMemory ? limit.share - 1 : limit.share;
  };
  std::stable_sort(limits.begin(), limits.end(), [&](const RunLimit& a, const RunLimit& b) {
    return tightness(a) > tightness(b);
  });
  limits.resize(std::min(most, limits.size()));
  return limits;
}

std::string ToString(const RunLimit& limit) {
  return StrCat(limit.what, " (", Percent(limit.share),
                limit.is_memory ? " full)" : " of the step)");
}

}  // namespace horizon
