#include "planner/make_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

constexpr int64_t kLargestBatch = 1024;
// A larger batch than this gives little more: the smallest within it of the best is proposed.
constexpr double kBatchSlack = 0.03;
constexpr StateFormat kStatesByBytes[] = {StateFormat::kFp32, StateFormat::kBf16Moments,
                                          StateFormat::kBf16Weights, StateFormat::k8BitMoments};

std::vector<PlanSpace> Each(std::vector<PlanSpace> spaces, PlanSpace (*change)(PlanSpace)) {
  for (PlanSpace& space : spaces) space = change(std::move(space));
  return spaces;
}

bool Fits(const PlanRequest& request, const TrainingJob& job, const Setting& setting) {
  if (!ValidateJob(request.spec, job).ok()) return false;
  return FindFitting(request.spec, job, Each(SpacesOf(request, job), FrugalSpace), setting)
      .plan.has_value();
}

// bf16-weights is no smaller than bf16-moments and loses the exact master, so it is not proposed;
// it stays where the user has it.
bool IsProposable(StateFormat format) { return format != StateFormat::kBf16Weights; }

void ProposeState(const PlanRequest& request, PlanAnswer& answer) {
  for (const StateFormat format : kStatesByBytes) {
    if (!IsProposable(format)) continue;
    TrainingJob job = answer.job;
    job.state_format = format;
    const bool fits = Fits(request, job, request.setting);
    if (!fits && format != StateFormat::k8BitMoments) continue;
    answer.job = job;
    answer.proposals.push_back(
        {.field = "state_format",
         .value = std::string(ToString(format)),
         .reason = fits ? "the most exact that fits" : "the smallest, though none fits"});
    return;
  }
}

void ProposeBatch(const PlanRequest& request, PlanAnswer& answer) {
  struct Tried {
    int64_t batch;
    double tokens_per_second;
  };
  std::vector<Tried> tried;
  double best = 0;
  for (int64_t batch = 1; batch <= kLargestBatch; batch *= 2) {
    TrainingJob job = answer.job;
    job.micro_batch = batch;
    if (!Fits(request, job, request.setting)) break;
    const SearchResult result =
        SearchPlans(request.spec, job, Each(SpacesOf(request, job), CoarseSpace), request.setting,
                    {.most_simulated = 4});
    if (!result.plan.has_value()) break;
    const double before = best;
    tried.push_back({batch, result.prediction.tokens_per_second});
    best = std::max(best, result.prediction.tokens_per_second);
    // Once a doubling gives next to nothing, further ones will not give more.
    if (batch > 1 && best < before * 1.005) break;
  }
  for (const Tried& one : tried) {
    if (one.tokens_per_second < best * (1 - kBatchSlack)) continue;
    answer.job.micro_batch = one.batch;
    answer.proposals.push_back({.field = "micro_batch",
                                .value = StrCat(one.batch),
                                .reason = "the smallest within 3 % of the best tokens/s found"});
    return;
  }
}

std::string InGib(uint64_t bytes) {
  const uint64_t gib = uint64_t{1} << 30;
  return StrCat((bytes + gib - 1) / gib, " GiB");
}

// Each alone makes the job fit; found by trying.
std::vector<Remedy> FindRemedies(const PlanRequest& request, const TrainingJob& job) {
  std::vector<Remedy> remedies;
  const auto try_job = [&](const TrainingJob& changed, std::string what) {
    if (!Fits(request, changed, request.setting)) return false;
    remedies.push_back({std::move(what)});
    return true;
  };
  for (const StateFormat format : kStatesByBytes) {
    TrainingJob changed = job;
    changed.state_format = format;
    if (format == job.state_format || !IsProposable(format)) continue;
    if (MomentBytes(format, 1024) >= MomentBytes(job.state_format, 1024)) continue;
    if (try_job(changed, StrCat("--state ", ToString(format)))) break;
  }
  if (request.fixed.strategy == Strategy::kHorizon && job.accumulation == 1 &&
      job.optimizer_place != OptimizerPlace::kInBackward) {
    TrainingJob changed = job;
    changed.optimizer_place = OptimizerPlace::kInBackward;
    changed.clip_norm = 0;
    try_job(changed, "--optimizer-place in-backward --clip-norm 0 (no gradients are kept)");
  }
  for (int64_t batch = job.micro_batch / 2; batch >= 1; batch /= 2) {
    TrainingJob changed = job;
    changed.micro_batch = batch;
    if (try_job(changed, StrCat("--batch ", batch))) break;
  }
  for (int64_t sequence = job.sequence / 2; sequence >= 128; sequence /= 2) {
    TrainingJob changed = job;
    changed.sequence = sequence;
    if (try_job(changed, StrCat("--sequence ", sequence))) break;
  }
  return remedies;
}

// The least of the two memories that would do, the rest of the machine as it is.
void AddMemoryRemedy(const PlanRequest& request, const PlanAnswer& answer,
                     std::vector<Remedy>& remedies) {
  HardwareProfile larger = request.setting.profile;
  std::string what;
  for (const Shortage& shortage : answer.search.shortages) {
    const double bytes =
        static_cast<double>(shortage.needed) / (1 - request.setting.margin) + (1 << 20);
    what += StrCat(what.empty() ? "" : " and ", ToString(shortage.limit), " ",
                   InGib(static_cast<uint64_t>(bytes)));
    switch (shortage.limit) {
      case Limit::kHostMemory:
        larger.host.memory_bytes.value = bytes;
        larger.host.cgroup_bytes.reset();
        break;
      case Limit::kDeviceMemory:
        larger.device.memory_bytes.value = bytes;
        break;
      case Limit::kPageLocking:
        larger.host.memlock_bytes.reset();
        break;
    }
  }
  const Setting setting{
      .profile = larger, .software = request.setting.software, .margin = request.setting.margin};
  if (Fits(request, answer.job, setting)) remedies.push_back({std::move(what)});
}

// The search of spaces of which some plan fits.
SearchResult Search(const PlanRequest& request, const TrainingJob& job,
                    const std::vector<PlanSpace>& spaces) {
  const auto search = [&](const std::vector<PlanSpace>& parts, const SearchOptions& options) {
    return SearchPlans(request.spec, job, parts, request.setting, options);
  };
  if (request.effort == SearchEffort::kFull) return search(spaces, {});
  SearchResult quick = search(Each(spaces, CoarseSpace), {.most_simulated = 8});
  // What fits may be none of the usual plans.
  return quick.plan.has_value() ? quick : search(Each(spaces, FrugalSpace), {.most_simulated = 8});
}

}  // namespace

std::vector<Strategy> StrategiesFor(const TrainingJob& job) {
  if (job.device == DeviceKind::kHost) return {Strategy::kHorizon};
  return {Strategy::kHorizon, Strategy::kResident};
}

std::vector<PlanSpace> SpacesOf(const PlanRequest& request, const TrainingJob& job) {
  const auto space_of = [&](const StreamPlan& fixed) {
    return SpaceFor(request.spec, job, request.setting.profile, fixed, request.fixed_fields);
  };
  if (!request.all_strategies) return {space_of(request.fixed)};
  std::vector<PlanSpace> spaces;
  for (const Strategy strategy : StrategiesFor(job)) {
    StreamPlan fixed = request.fixed;
    fixed.strategy = strategy;
    spaces.push_back(space_of(fixed));
  }
  return spaces;
}

absl::StatusOr<PlanAnswer> MakePlan(const PlanRequest& request) {
  PlanAnswer answer{.job = request.job};
  if (request.propose_batch) answer.job.micro_batch = 1;
  RETURN_IF_ERROR(ValidateJob(request.spec, answer.job));
  if (request.propose_state) ProposeState(request, answer);
  if (request.propose_batch) ProposeBatch(request, answer);
  const std::vector<PlanSpace> spaces = SpacesOf(request, answer.job);
  // Where the least does not fit, nothing does: no need to look at the rest.
  answer.search = FindFitting(request.spec, answer.job, Each(spaces, FrugalSpace), request.setting);
  answer.feasible = answer.search.plan.has_value();
  answer.planned_only = WhyPlannedOnly(request.spec, answer.job, request.fixed);
  if (answer.planned_only.empty()) {
    answer.planned_only = request.setting.profile.planned_only.value_or("");
  }
  if (answer.feasible) {
    answer.search = Search(request, answer.job, spaces);
    return answer;
  }
  // Nothing lacks and yet there is no plan: what was fixed by hand cannot be built.
  if (answer.search.shortages.empty()) return answer.search.refusal;
  AddMemoryRemedy(request, answer, answer.remedies);
  for (Remedy& remedy : FindRemedies(request, answer.job)) {
    answer.remedies.push_back(std::move(remedy));
  }
  return answer;
}

std::vector<std::string> DescribeShortages(const std::vector<Shortage>& shortages) {
  std::vector<std::string> lines;
  lines.reserve(shortages.size());
  for (const Shortage& shortage : shortages) {
    lines.push_back(StrCat("short by ", ToString(shortage.needed - shortage.available), " of ",
                           ToString(shortage.limit), " (needs ", ToString(shortage.needed), ", ",
                           ToString(shortage.available), " are available)"));
  }
  return lines;
}

}  // namespace horizon
