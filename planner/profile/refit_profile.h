#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_spec.h"
#include "planner/profile/machine_speed.h"
#include "schedule/schedule.h"
#include "schedule/timeline/compare_timelines.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"
#include "simulator/rate_group.h"

namespace horizon {

// Corrects a profile with measured runs. The rates of a profile are measured with each kernel
// alone; in a run kernels follow one another, with cold caches and other lanes beside them. So the
// durations of operations in runs, divided by those that the simulator predicts, correct `in_runs`
// of the profile: the share of its rates that operations reach in runs.

// A run that was made on the machine.
struct RunEvidence {
  std::string name;  // for people: the folder of the run
  const ModelSpec& spec;
  const Schedule& schedule;
  // The profile that the run was predicted with: at the machine's speed then, with its bandwidth
  // limit and its cores.
  const HardwareProfile& machine;
  // How fast the machine was after the run, as a share of its speed before; none: not measured.
  std::optional<MachineSpeed> speed_change;
  Software software;
  StepDurations durations;  // measured durations of the operations of a steady step
  double step_seconds = 0;  // measured time of a step
};

std::string_view DescribeGroup(RateGroup group);  // "compute", "copies to the device", ...

// The correction of one group of rates.
struct GroupFit {
  RateGroup group = RateGroup::kCompute;
  int64_t operations = 0;
  // Measured / predicted time. The ratio of one run is the median over its operations, weighted by
  // their predicted time. With several runs, ratio and quartiles are those of the ratios of the
  // runs; with one run, those of its operations.
  double ratio = 1;
  double first_quartile = 1;
  double third_quartile = 1;
  bool corrected = false;  // whether the profile was corrected by this ratio

  // Whether both quartiles are on the same side of 1. Otherwise the runs differ among each other,
  // which is not an error of the profile.
  bool agrees() const { return first_quartile > 1 || third_quartile < 1; }
};

struct RunFit {
  std::string name;
  double measured = 0;  // seconds of a step
  double before = 0;    // predicted from the profile before the correction, at the speed of the run
  double after = 0;     // predicted from the corrected profile
};

struct Refit {
  HardwareProfile profile;       // `in_runs` corrected and marked `fitted`, with the number of runs
  std::vector<GroupFit> groups;  // groups that have operations, in the order of RateGroup
  // How much longer compute-bound steps took than their corrected operations. The median of an
  // operation ignores the moments in which the machine was slowed down, but a step contains its
  // share of them. Compute is corrected by this too, by the same rule. 1 where no run is
  // compute-bound, or where the runs do not agree.
  double beyond_operations = 1;
  std::vector<RunFit> runs;
};

// Which ratios are applied. kWhereRunsAgree: only those for which GroupFit::agrees(); for runs that
// users made, because other programs may have run beside them. kAlways: all; for runs that were
// made to measure, one right after the other.
enum class RefitRule { kWhereRunsAgree, kAlways };

// Divides `in_runs` of `base` by the ratios that the rule selects. There must be at least one run
// (CHECK). Predictions are made anew from `base`, so refitting the result with the same runs
// changes almost nothing. Copies that a bandwidth limit slowed down are ignored, and so are groups
// with less than kLeastShare of the time of all runs.
inline constexpr double kLeastShare = 0.002;
Refit RefitProfile(const HardwareProfile& base, std::span<const RunEvidence> runs,
                   RefitRule rule = RefitRule::kWhereRunsAgree);

}  // namespace horizon
