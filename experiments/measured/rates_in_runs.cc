#include "experiments/measured/rates_in_runs.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/measured/measured_run.h"
#include "planner/profile/machine_speed.h"

namespace horizon {
namespace {

std::vector<MeasuredCase> CasesFor(RunsDepth depth, int64_t cores) {
  std::vector<MeasuredCase> cases;
  const auto add = [&](std::string name, const ModelShape& shape, int64_t sequence,
                       int64_t interval) {
    MeasuredCase& made =
        cases.emplace_back(MeasuredCase{.name = std::move(name), .spec = ModelOf(shape)});
    made.job.sequence = sequence;
    made.job.micro_batch = 2;
    made.plan.compute_threads = cores;
    made.plan.anchor_interval = interval;
  };
  add("narrow", {.layers = 10, .hidden = 128, .intermediate = 384, .vocab = 1024}, 192, 2);
  add("middle", {.layers = 5, .hidden = 384, .intermediate = 1024, .vocab = 2048}, 192, 1);
  add("broad", {.layers = 2, .hidden = 640, .intermediate = 1728, .vocab = 2048}, 192, 1);
  if (depth == RunsDepth::kQuick) return cases;
  add("long", {.layers = 4, .hidden = 320, .intermediate = 896, .vocab = 2048}, 512, 2);
  add("tall", {.layers = 16, .hidden = 192, .intermediate = 512, .vocab = 1024}, 160, 4);
  return cases;
}

}  // namespace

absl::StatusOr<Refit> MeasureRatesInRuns(const HardwareProfile& profile,
                                         const RunsForProfile& runs) {
  const bool quick = runs.depth == RunsDepth::kQuick;
  HardwareProfile alone = profile;
  alone.in_runs = {};
  const std::vector<MeasuredCase> cases = CasesFor(runs.depth, alone.host.cores);
  const auto total = static_cast<int64_t>(cases.size());
  std::vector<MeasuredRun> made;
  std::vector<HardwareProfile> machines;
  for (const MeasuredCase& each : cases) {
    ASSIGN_OR_RETURN(made.emplace_back(),
                     RunMeasured(each, {.io = runs.io,
                                        .clock = runs.clock,
                                        .profile = alone,
                                        .steps = quick ? kBurstSteps : 4 * kBurstSteps,
                                        .burst_time = quick ? Seconds{0.6} : Seconds{1.5},
                                        .speed_time = quick ? Seconds{0.4} : Seconds{0.8}}));
    machines.push_back(AtSpeed(alone, made.back().expected_speed));
    if (runs.on_run) runs.on_run(static_cast<int64_t>(made.size()), total);
  }
  std::vector<RunEvidence> evidence;
  for (size_t i = 0; i < cases.size(); ++i) {
    evidence.push_back({.name = cases[i].name,
                        .spec = cases[i].spec,
                        .schedule = made[i].schedule,
                        .machine = machines[i],
                        .software = made[i].software,
                        .durations = made[i].durations,
                        .step_seconds = made[i].step_seconds()});
  }
  Refit refit = RefitProfile(alone, evidence, RefitRule::kAlways);
  // A fit to other runs than these would be no figure of this profile; these are part of it.
  for (const GroupFit& fit : refit.groups) {
    std::optional<Figure>& share = refit.profile.in_runs[static_cast<size_t>(fit.group)];
    if (!share.has_value()) continue;
    share->origin = {
        .kind = OriginKind::kMeasured,
        .source = StrCat("median over ", total, " small runs of ", fit.operations, " operations"),
        .when = runs.when,
        .repeats = total,
        .spread = (fit.third_quartile - fit.first_quartile) / fit.ratio};
  }
  return refit;
}

}  // namespace horizon
