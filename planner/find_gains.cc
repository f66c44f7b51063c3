#include "planner/find_gains.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::vector<Gain> TryAll(const PlanRequest& request, const PlanAnswer& answer,
                         const std::vector<ChangedSetup>& setups, bool propose_batch) {
  const double today = answer.search.prediction.tokens_per_second;
  std::vector<Gain> gains;
  for (const ChangedSetup& setup : setups) {
    const PlanRequest changed{.spec = request.spec,
                              .job = setup.job,
                              .fixed = request.fixed,
                              .fixed_fields = request.fixed_fields,
                              .setting = {.profile = setup.profile,
                                          .software = request.setting.software,
                                          .margin = request.setting.margin},
                              .all_strategies = request.all_strategies,
                              .propose_batch = propose_batch,
                              .effort = SearchEffort::kQuick};
    // A change that is not possible with this model or with what was fixed gains nothing.
    const absl::StatusOr<PlanAnswer> with = MakePlan(changed);
    if (!with.ok() || !with->feasible) continue;
    const Prediction& prediction = with->search.prediction;
    const double gain = prediction.tokens_per_second / today - 1;
    if (gain < kNoiseGain) continue;
    gains.push_back({.what = setup.what,
                     .options = setup.options,
                     .cost = setup.cost,
                     .step_seconds = prediction.step_seconds,
                     .tokens_per_second = prediction.tokens_per_second,
                     .gain = gain});
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.gain > b.gain; });
  return gains;
}

// Changes that need no less memory, but work through more tokens a second.
std::vector<ChangedSetup> ThroughputChanges(const PlanRequest& request, const TrainingJob& job) {
  std::vector<ChangedSetup> changes;
  const auto add = [&](const TrainingJob& changed, std::string what, std::string options,
                       std::string cost) {
    changes.push_back({.what = std::move(what),
                       .options = std::move(options),
                       .cost = std::move(cost),
                       .job = changed,
                       .profile = request.setting.profile});
  };
  if (job.optimizer_place == OptimizerPlace::kAfterStep &&
      request.fixed.strategy == Strategy::kHorizon) {
    TrainingJob changed = job;
    changed.optimizer_place = OptimizerPlace::kBehindForward;
    add(changed, "updated behind forward", "--optimizer-place behind-forward",
        "none: an update still sees the whole batch");
  }
  if (job.optimizer_place != OptimizerPlace::kInBackward) {
    TrainingJob changed = job;
    changed.accumulation = 4 * job.accumulation;
    add(changed, StrCat("gradient accumulation of ", changed.accumulation),
        StrCat("--accumulate ", changed.accumulation), "an update sees 4 x as many samples");
  }
  return changes;
}

// The batch that the planner would propose instead of the one that was given.
std::vector<Gain> BatchGain(const PlanRequest& request, const PlanAnswer& answer) {
  if (request.propose_batch) return {};
  PlanRequest proposed = request;
  proposed.job = answer.job;
  proposed.propose_batch = true;
  proposed.propose_state = false;
  const absl::StatusOr<PlanAnswer> with = MakePlan(proposed);
  if (!with.ok() || !with->feasible) return {};
  const int64_t batch = with->job.micro_batch;
  if (batch <= answer.job.micro_batch) return {};
  ChangedSetup setup{
      .what = StrCat("batch of ", batch),
      .options = StrCat("--batch ", batch),
      .cost = StrCat("a micro-batch has ", batch, " samples, not ", answer.job.micro_batch),
      .job = with->job,
      .profile = request.setting.profile};
  return TryAll(request, answer, {std::move(setup)}, false);
}

}  // namespace

std::vector<Gain> FindFreeGains(const PlanRequest& request, const PlanAnswer& answer) {
  std::vector<Gain> gains = TryAll(
      request, answer, FreeChangesOf(answer.job, request.setting.profile, request.fixed.strategy),
      request.propose_batch);
  // These say which batch they are about.
  for (std::vector<Gain>& more :
       std::array{TryAll(request, answer, ThroughputChanges(request, answer.job), false),
                  BatchGain(request, answer)}) {
    std::move(more.begin(), more.end(), std::back_inserter(gains));
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.gain > b.gain; });
  return gains;
}

std::vector<Gain> FindPurchaseGains(const PlanRequest& request, const PlanAnswer& answer,
                                    const std::vector<HardwareProfile>& others) {
  return TryAll(request, answer, PurchasesOf(answer.job, request.setting.profile, others),
                request.propose_batch);
}

}  // namespace horizon
