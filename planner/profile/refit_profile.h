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

// What runs say about a profile. A profile is measured kernel by kernel, each alone; a run has them
// one after another, with cold caches and neighbours. So what its operations took, beside what the
// simulator expects of them, corrects what the profile says operations reach in runs (`in_runs`).

// A run that was made on the machine.
struct RunEvidence {
  std::string name;  // for people: its folder
  const ModelSpec& spec;
  const Schedule& schedule;
  // What its prediction was made from: the machine's speed then, limits of the link, cores.
  const HardwareProfile& machine;
  // How fast the machine was after the run, as a share of its speed before; none: not looked at.
  std::optional<MachineSpeed> speed_change;
  Software software;
  StepDurations durations;  // of a steady step, as measured
  double step_seconds = 0;  // measured
};

std::string_view DescribeGroup(RateGroup group);  // "compute", "copies to the device", ...

struct GroupFit {
  RateGroup group = RateGroup::kCompute;
  int64_t operations = 0;
  // Measured over predicted time. Of a run: the median over its operations, each with the weight of
  // its predicted time. Of several: the median of the runs', with its quartiles; of one run those
  // of its operations.
  double ratio = 1;
  double first_quartile = 1;
  double third_quartile = 1;
  bool corrected = false;  // the profile was

  // The quartiles lie on one side of 1: what differs from run to run is no fault of the profile.
  bool agrees() const { return first_quartile > 1 || third_quartile < 1; }
};

struct RunFit {
  std::string name;
  double measured = 0;  // seconds of a step
  double before = 0;    // predicted from the profile as it was, at the speed the run had
  double after = 0;     // and as it is corrected
};

struct Refit {
  HardwareProfile profile;  // its `in_runs` corrected and marked `fitted`, with the runs' number
  std::vector<GroupFit> groups;  // with operations, in the order of RateGroup
  // What steps bound by compute took beyond their corrected operations: the median of an operation
  // leaves out the moments in which the machine held it up, and a step has its share of them.
  // Compute is corrected by it too, by the same rule. 1 where no run is bound by compute, or they
  // do not agree.
  double beyond_operations = 1;
  std::vector<RunFit> runs;
};

// Runs that people made are taken where they agree, since nobody knows what else went on beside
// them; runs that were made to measure, one right after the other, are taken as they are.
enum class RefitRule { kWhereRunsAgree, kAlways };

// Divides what `base` says operations reach in runs by the ratios that count; there is at least one
// run (CHECK). Asking again with the result and the same runs changes next to nothing: predictions
// are made anew from `base`. Copies that a limit held up, and groups with less than kLeastShare of
// the time of all runs, say nothing.
inline constexpr double kLeastShare = 0.002;
Refit RefitProfile(const HardwareProfile& base, std::span<const RunEvidence> runs,
                   RefitRule rule = RefitRule::kWhereRunsAgree);

}  // namespace horizon
