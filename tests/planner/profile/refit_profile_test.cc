// Runs are made by simulating another machine than the profile says: what was changed is found
// again.
#include "planner/profile/refit_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "planner/planned_job.h"
#include "planner/profile/machine_speed.h"
#include "schedule/build/build_schedule.h"
#include "simulator/prediction.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

// What a run is made of, and the run as it goes on a machine.
struct MadeRun {
  ModelSpec spec = SmallModel();
  Schedule schedule;
  HardwareProfile machine;
  StepDurations durations;
  double step_seconds = 0;

  MadeRun(int64_t depth, const HardwareProfile& said, const HardwareProfile& real) : machine(said) {
    StreamPlan plan = PlanFor(Strategy::kHorizon);
    plan.buffer_depth = depth;
    schedule = *BuildSchedule(spec, SmallJob(), plan);
    const PredictedRun run = PredictRun(spec, schedule, {.profile = real});
    durations = DurationsOf(schedule, run.steady.simulation.timeline, run.steady.reported_step);
    step_seconds = run.prediction.step_seconds;
  }
  RunEvidence Evidence() const {
    return {.name = "run",
            .spec = spec,
            .schedule = schedule,
            .machine = machine,
            .durations = durations,
            .step_seconds = step_seconds};
  }
};

HardwareProfile Machine() {
  HardwareProfile profile = SmallMachine(SlowPart::kCompute);
  profile.host.yardstick_flops_per_second = Figure{.value = 1e9};
  profile.host.yardstick_bytes_per_second = Figure{.value = 1e9};
  return profile;
}

const std::optional<Figure>& ComputeInRuns(const HardwareProfile& profile) {
  return profile.in_runs[static_cast<size_t>(RateGroup::kCompute)];
}
// What products reach in runs.
double ComputeRate(const HardwareProfile& profile) {
  const std::optional<Figure>& share = ComputeInRuns(profile);
  return profile.device.gemm_bf16.Highest() * (share.has_value() ? share->value : 1);
}

const GroupFit* Find(const Refit& refit, RateGroup group) {
  for (const GroupFit& fit : refit.groups) {
    if (fit.group == group) return &fit;
  }
  return nullptr;
}

TEST(RefitProfile, ARunAsPredictedChangesNothing) {
  const HardwareProfile base = Machine();
  const MadeRun run(2, base, base);
  const Refit refit = RefitProfile(base, {{run.Evidence()}});
  for (const GroupFit& fit : refit.groups)
    EXPECT_NEAR(fit.ratio, 1, 1e-9) << DescribeGroup(fit.group);
  EXPECT_NEAR(refit.beyond_operations, 1, 1e-6);
  EXPECT_NEAR(ComputeRate(refit.profile), ComputeRate(base), 1e-6 * ComputeRate(base));
  EXPECT_DOUBLE_EQ(refit.runs[0].before, refit.runs[0].measured);
}

TEST(RefitProfile, FindsRatesThatAreOff) {
  const HardwareProfile base = Machine();
  HardwareProfile real = base;
  for (Curve* curve : {&real.device.gemm_bf16, &real.device.attention}) {
    *curve = Scaled(*curve, 0.8);
  }
  real.device.element_bytes_per_second.value *= 0.8;
  for (Curve& curve : real.host.adam) curve = Scaled(curve, 1.5);
  const MadeRun first(1, base, real);
  const MadeRun second(3, base, real);
  const Refit refit = RefitProfile(base, {{first.Evidence(), second.Evidence()}});
  ASSERT_NE(Find(refit, RateGroup::kCompute), nullptr);
  EXPECT_NEAR(Find(refit, RateGroup::kCompute)->ratio, 1.25, 0.02);
  ASSERT_NE(Find(refit, RateGroup::kAdam), nullptr);
  EXPECT_NEAR(Find(refit, RateGroup::kAdam)->ratio, 1 / 1.5, 0.02);
  EXPECT_NEAR(ComputeRate(refit.profile) / ComputeRate(base), 0.8, 0.02);
  EXPECT_EQ(refit.profile.device.gemm_bf16, base.device.gemm_bf16);
  EXPECT_EQ(ComputeInRuns(refit.profile)->origin.kind, OriginKind::kFitted);
  EXPECT_NE(ComputeInRuns(refit.profile)->origin.source.find("of 2 runs"), std::string::npos);
  for (const RunFit& run : refit.runs) {
    EXPECT_LT(std::abs(run.measured / run.after - 1), 0.02);
    EXPECT_GT(std::abs(run.measured / run.before - 1), 0.1);
  }
}

TEST(RefitProfile, AskedAgainItChangesNextToNothing) {
  const HardwareProfile base = Machine();
  HardwareProfile real = base;
  real.device.gemm_bf16 = Scaled(real.device.gemm_bf16, 0.8);
  const MadeRun run(2, base, real);
  const Refit once = RefitProfile(base, {{run.Evidence()}});
  const Refit twice = RefitProfile(once.profile, {{run.Evidence()}});
  EXPECT_NEAR(ComputeRate(twice.profile) / ComputeRate(once.profile), 1, 0.01);
}

// The machine was at half its speed during the run: that is no fault of the profile.
TEST(RefitProfile, ASlowMomentOfTheMachineIsNotAFaultOfItsProfile) {
  HardwareProfile base = Machine();
  base.device.kind = DeviceKind::kHost;
  base.device.gemm_fp32 = base.device.gemm_bf16;
  const HardwareProfile then = AtSpeed(base, {.gemm = 0.5, .memory = 0.5});
  MadeRun run(2, then, then);
  const Refit refit = RefitProfile(base, {{run.Evidence()}});
  for (const GroupFit& fit : refit.groups)
    EXPECT_NEAR(fit.ratio, 1, 1e-6) << DescribeGroup(fit.group);
}

// It fell from its usual speed to half of it: the run had three quarters.
TEST(RefitProfile, AMachineThatSlowedDownDuringTheRunIsNotAFaultOfItsProfile) {
  HardwareProfile base = Machine();
  base.device.kind = DeviceKind::kHost;
  base.device.gemm_fp32 = base.device.gemm_bf16;
  const HardwareProfile meanwhile = AtSpeed(base, {.gemm = 0.75, .memory = 0.75});
  MadeRun run(2, base, meanwhile);
  RunEvidence evidence = run.Evidence();
  EXPECT_GT(RefitProfile(base, {{evidence}}).groups[0].ratio, 1.2);
  evidence.speed_change = MachineSpeed{.gemm = 0.5, .memory = 0.5};
  const Refit refit = RefitProfile(base, {{evidence}});
  for (const GroupFit& fit : refit.groups)
    EXPECT_NEAR(fit.ratio, 1, 1e-6) << DescribeGroup(fit.group);
}

TEST(RefitProfile, RunsThatWereMadeToMeasureCountAlsoWhereTheyDisagree) {
  const HardwareProfile base = Machine();
  std::vector<HardwareProfile> real(3, base);
  const double rates[] = {0.6, 0.8, 1.2};
  for (size_t i = 0; i < 3; ++i) {
    real[i].device.gemm_bf16 = Scaled(base.device.gemm_bf16, rates[i]);
    real[i].device.attention = Scaled(base.device.attention, rates[i]);
    real[i].device.element_bytes_per_second.value *= rates[i];
  }
  const MadeRun first(2, base, real[0]);
  const MadeRun second(2, base, real[1]);
  const MadeRun third(1, base, real[2]);
  const std::vector<RunEvidence> runs = {first.Evidence(), second.Evidence(), third.Evidence()};
  EXPECT_FALSE(ComputeInRuns(RefitProfile(base, runs).profile).has_value());
  const Refit refit = RefitProfile(base, runs, RefitRule::kAlways);
  EXPECT_NEAR(ComputeInRuns(refit.profile)->value, 0.8, 0.02);
  EXPECT_TRUE(Find(refit, RateGroup::kCompute)->corrected);
}

TEST(RefitProfile, OneOddOperationDoesNotCount) {
  const HardwareProfile base = Machine();
  MadeRun run(2, base, base);
  for (size_t i = 0; i < run.durations.size(); ++i) {
    if (run.schedule.steady.operations[i].kind == OperationKind::kForward) {
      run.durations[i] *= 50;
      break;
    }
  }
  const Refit refit = RefitProfile(base, {{run.Evidence()}});
  EXPECT_NEAR(Find(refit, RateGroup::kCompute)->ratio, 1, 1e-6);
}

// One run was quicker and one slower than predicted: that says nothing of the profile.
TEST(RefitProfile, RunsThatDisagreeCorrectNothing) {
  const HardwareProfile base = Machine();
  HardwareProfile quick = base;
  quick.device.gemm_bf16 = Scaled(quick.device.gemm_bf16, 1.3);
  HardwareProfile slow = base;
  slow.device.gemm_bf16 = Scaled(slow.device.gemm_bf16, 0.8);
  const MadeRun first(2, base, quick);
  const MadeRun second(2, base, slow);
  const MadeRun third(1, base, quick);
  const MadeRun fourth(1, base, slow);
  const Refit refit = RefitProfile(
      base, {{first.Evidence(), second.Evidence(), third.Evidence(), fourth.Evidence()}});
  EXPECT_FALSE(Find(refit, RateGroup::kCompute)->corrected);
  EXPECT_EQ(refit.profile.device.gemm_bf16, base.device.gemm_bf16);
}

TEST(RefitProfile, CopiesThatALimitHeldUpSayNothing) {
  HardwareProfile base = Machine();
  HardwareProfile limited = base;
  limited.link.limit_bytes_per_second = Figure{.value = base.link.h2d_pinned.Highest() / 10};
  const MadeRun run(2, limited, limited);
  const Refit refit = RefitProfile(base, {{run.Evidence()}});
  EXPECT_EQ(Find(refit, RateGroup::kCopiesOut), nullptr);
  EXPECT_EQ(refit.profile.link.h2d_pinned, base.link.h2d_pinned);
  EXPECT_FALSE(refit.profile.link.limit_bytes_per_second.has_value());
}

}  // namespace
}  // namespace horizon
