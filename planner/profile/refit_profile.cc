#include "planner/profile/refit_profile.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "planner/profile/machine_speed.h"
#include "simulator/prediction.h"

namespace horizon {
namespace {

// An operation's time beside its prediction, and how much that counts.
struct Sample {
  double ratio = 1;
  double weight = 0;
};
using Samples = std::array<std::vector<Sample>, kRateGroupCount>;

// The profile as it was when the run was made: at its speed, with its limits.
HardwareProfile AsOfRun(const HardwareProfile& base, const RunEvidence& run) {
  const HardwareProfile& machine = run.machine;
  // Half-way between before and after, where both are known.
  MachineSpeed speed;
  if (run.speed_change.has_value()) {
    speed.gemm = (1 + run.speed_change->gemm) / 2;
    speed.memory = (1 + run.speed_change->memory) / 2;
  }
  HardwareProfile profile = AtSpeed(base, SpeedRelativeTo(base, machine, speed));
  profile.link.limit_bytes_per_second = machine.link.limit_bytes_per_second;
  profile.host.cores = machine.host.cores;
  return profile;
}

PredictedRun PredictAgain(const RunEvidence& run, const HardwareProfile& profile) {
  return PredictRun(run.spec, run.schedule, {.profile = profile, .software = run.software});
}

bool HeldUp(const HardwareProfile& profile, const Operation& operation, int64_t nanoseconds) {
  const std::optional<Figure>& limit = profile.link.limit_bytes_per_second;
  if (!limit || (operation.lane != Lane::kH2d && operation.lane != Lane::kD2h)) return false;
  return static_cast<double>(operation.bytes) / limit->value >
         0.5e-9 * static_cast<double>(nanoseconds);
}

void Collect(const RunEvidence& run, const HardwareProfile& profile, const PredictedRun& predicted,
             Samples& samples) {
  const StepDurations expected = DurationsOf(run.schedule, predicted.steady.simulation.timeline,
                                             predicted.steady.reported_step);
  CHECK(expected.size() == run.durations.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Operation& operation = run.schedule.steady.operations[i];
    const std::optional<RateGroup> group = GroupOf(operation);
    if (!group || expected[i] <= 0 || run.durations[i] <= 0) continue;
    if (HeldUp(profile, operation, expected[i])) continue;
    samples[static_cast<size_t>(*group)].push_back(
        {.ratio = static_cast<double>(run.durations[i]) / static_cast<double>(expected[i]),
         .weight = 1e-9 * static_cast<double>(expected[i])});
  }
}

double WeightOf(const std::vector<Sample>& samples) {
  double sum = 0;
  for (const Sample& sample : samples) sum += sample.weight;
  return sum;
}

// The ratio below which `share` of the weight lies; samples ascend.
double Quantile(const std::vector<Sample>& samples, double share) {
  const double wanted = share * WeightOf(samples);
  double sum = 0;
  for (const Sample& sample : samples) {
    sum += sample.weight;
    if (sum >= wanted) return sample.ratio;
  }
  return samples.back().ratio;
}

void SortByRatio(std::vector<Sample>& samples) {
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.ratio < b.ratio; });
}

GroupFit FitOf(RateGroup group, std::vector<Sample>& samples) {
  SortByRatio(samples);
  return {.group = group,
          .ratio = Quantile(samples, 0.5),
          .first_quartile = Quantile(samples, 0.25),
          .third_quartile = Quantile(samples, 0.75)};
}

// `samples` are those of each run.
std::vector<GroupFit> FitGroups(std::vector<Samples>& samples, double step_seconds) {
  std::vector<GroupFit> fits;
  for (size_t g = 0; g < kRateGroupCount; ++g) {
    const auto group = static_cast<RateGroup>(g);
    std::vector<Sample> of_runs;
    int64_t operations = 0;
    double weight = 0;
    GroupFit fit;
    for (Samples& run : samples) {
      if (run[g].empty()) continue;
      operations += static_cast<int64_t>(run[g].size());
      weight += WeightOf(run[g]);
      fit = FitOf(group, run[g]);
      of_runs.push_back({.ratio = fit.ratio, .weight = 1});
    }
    if (of_runs.empty() || weight < kLeastShare * step_seconds) continue;
    if (of_runs.size() > 1) fit = FitOf(group, of_runs);
    fit.operations = operations;
    fits.push_back(fit);
  }
  return fits;
}

// What operations reach in runs becomes less by the ratio. The words of an earlier correction go:
// this one starts from what it left.
void Apply(const GroupFit& fit, size_t runs, HardwareProfile& profile) {
  std::optional<Figure>& share = profile.in_runs[static_cast<size_t>(fit.group)];
  const double before = share.has_value() ? share->value : 1;
  const double spread = (fit.third_quartile - fit.first_quartile) / fit.ratio;
  share = Figure{.value = before / fit.ratio,
                 .origin = {.kind = OriginKind::kFitted,
                            .source = StrCat(fit.operations, " operations of ", runs,
                                             runs == 1 ? " run" : " runs", ", quartiles ",
                                             Percent(spread), " apart")}};
}

constexpr double kBoundShare = 0.9;  // of a step that compute is busy

void CorrectForSteps(std::span<const RunEvidence> runs, RefitRule rule, Refit& refit) {
  std::vector<Sample> beyond;
  for (const RunEvidence& run : runs) {
    const Prediction now = PredictAgain(run, AsOfRun(refit.profile, run)).prediction;
    if (now.busy_share[static_cast<size_t>(Lane::kCompute)] < kBoundShare) continue;
    beyond.push_back({.ratio = run.step_seconds / now.step_seconds, .weight = 1});
  }
  const auto compute =
      std::find_if(refit.groups.begin(), refit.groups.end(),
                   [](const GroupFit& fit) { return fit.group == RateGroup::kCompute; });
  if (beyond.empty() || compute == refit.groups.end()) return;
  GroupFit again = FitOf(RateGroup::kCompute, beyond);
  again.operations = compute->operations;
  if (rule == RefitRule::kWhereRunsAgree && !again.agrees()) return;
  refit.beyond_operations = again.ratio;
  Apply(again, runs.size(), refit.profile);
}

}  // namespace

std::string_view DescribeGroup(RateGroup group) {
  switch (group) {
    case RateGroup::kCompute:
      return "compute";
    case RateGroup::kCopiesIn:
      return "copies to the device";
    case RateGroup::kCopiesOut:
      return "copies from the device";
    case RateGroup::kAdam:
      return "Adam";
    case RateGroup::kNorm:
      return "norms";
    case RateGroup::kAccumulate:
      return "accumulation";
    case RateGroup::kPasses:
      return "other passes over memory";
  }
  return "";
}

Refit RefitProfile(const HardwareProfile& base, std::span<const RunEvidence> runs, RefitRule rule) {
  CHECK(!runs.empty());
  std::vector<Samples> samples;
  Refit refit{.profile = base};
  double step_seconds = 0;
  for (const RunEvidence& run : runs) {
    const HardwareProfile profile = AsOfRun(base, run);
    const PredictedRun predicted = PredictAgain(run, profile);
    Collect(run, profile, predicted, samples.emplace_back());
    step_seconds += predicted.prediction.step_seconds;
    refit.runs.push_back({.name = run.name,
                          .measured = run.step_seconds,
                          .before = predicted.prediction.step_seconds});
  }
  refit.groups = FitGroups(samples, step_seconds);
  for (GroupFit& fit : refit.groups) {
    fit.corrected = rule == RefitRule::kAlways || fit.agrees();
    if (fit.corrected) Apply(fit, runs.size(), refit.profile);
  }
  CorrectForSteps(runs, rule, refit);
  for (size_t i = 0; i < runs.size(); ++i) {
    refit.runs[i].after =
        PredictAgain(runs[i], AsOfRun(refit.profile, runs[i])).prediction.step_seconds;
  }
  return refit;
}

}  // namespace horizon
