#include "planner/find_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/planned_job.h"
#include "schedule/build/build_schedule.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::Contains;
using testing::Not;

class FindLimitsTest : public testing::Test {
 protected:
  PlanRequest Request(const HardwareProfile& machine) const {
    return {.spec = spec_,
            .job = job_,
            .fixed = PlanFor(Strategy::kHorizon),
            .fixed_fields = {},
            .setting = {.profile = machine}};
  }
  static PlanAnswer Make(const PlanRequest& request) {
    absl::StatusOr<PlanAnswer> answer = MakePlan(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : PlanAnswer{};
  }
  static std::vector<std::string> NamesOf(const std::vector<RunLimit>& limits) {
    std::vector<std::string> names;
    for (const RunLimit& limit : limits) names.push_back(limit.what);
    return names;
  }

  ModelSpec spec_ = SmallModel();
  TrainingJob job_ = SmallJob();
};

TEST_F(FindLimitsTest, WhatIsSlowIsTheFirstLimit) {
  struct Case {
    SlowPart slow;
    std::string limit;
  };
  for (const Case& one :
       {Case{SlowPart::kLink, "link"}, Case{SlowPart::kCompute, "compute"},
        Case{SlowPart::kOptimizer, "host DRAM"}, Case{SlowPart::kDram, "host DRAM"}}) {
    const HardwareProfile machine = SmallMachine(one.slow);
    const PlanRequest request = Request(machine);
    const std::vector<RunLimit> limits = FindLimits(request, Make(request));
    ASSERT_FALSE(limits.empty());
    EXPECT_EQ(limits.front().what, one.limit);
    // One part alone gains no more than it has.
    EXPECT_GT(limits.front().gain, 0.1);
    EXPECT_LE(limits.front().gain, 1 - 1 / kEnlarged + 0.001);
  }
}

// The largest gain first, none below what is worth a line.
TEST_F(FindLimitsTest, LimitsAreSortedByWhatTheyGain) {
  for (const SlowPart slow : kSlowParts) {
    const HardwareProfile machine = SmallMachine(slow);
    const PlanRequest request = Request(machine);
    const std::vector<RunLimit> limits = FindLimits(request, Make(request));
    double before = 1;
    for (const RunLimit& limit : limits) {
      EXPECT_LE(limit.gain, before);
      EXPECT_GE(limit.gain, kLeastGain);
      before = limit.gain;
    }
  }
}

// Predicted again with the part enlarged by hand, the step is shorter by just that.
TEST_F(FindLimitsTest, TheGainIsThatOfAMachineWithMoreOfIt) {
  const HardwareProfile machine = SmallMachine(SlowPart::kLink);
  const PlanRequest request = Request(machine);
  const PlanAnswer answer = Make(request);
  const std::vector<RunLimit> limits = FindLimits(request, answer);
  const HardwareProfile faster = WithFasterLink(machine, kEnlarged);
  EXPECT_EQ(faster.link.h2d_pinned.Highest(), machine.link.h2d_pinned.Highest() * kEnlarged);
  const absl::StatusOr<Prediction> again =
      Predict(spec_, job_, *answer.search.plan, {.profile = faster});
  ASSERT_TRUE(again.ok());
  EXPECT_DOUBLE_EQ(limits.front().gain,
                   1 - again->step_seconds / answer.search.prediction.step_seconds);
}

// The planner keeps chunks on the device as long as there is room, which fills it whatever that
// gains. Where the optimizer is all that counts, more device memory gains nothing.
TEST_F(FindLimitsTest, AMemoryThatThePlannerFillsIsNoLimitBySayingSo) {
  HardwareProfile machine = SmallMachine(SlowPart::kOptimizer);
  machine.device.memory_bytes.value = BesideScratch(spec_, job_, 2.2e7);
  PlanRequest request = Request(machine);
  request.fixed.resident_chunks = kAsManyAsFit;
  request.fixed_fields = {"resident_chunks"};
  const PlanAnswer answer = Make(request);
  ASSERT_TRUE(answer.feasible);
  const std::vector<RunLimit> limits = FindLimits(request, answer);
  EXPECT_EQ(limits.front().what, "host DRAM");
  EXPECT_THAT(NamesOf(limits), Not(Contains("device memory")));
}

// A quick search leaves out many plans. What a longer one finds in the same memory is no gain of
// more memory, whatever the plan.
TEST_F(FindLimitsTest, AFasterPlanThatFitsTodayIsNoGainOfMemory) {
  const HardwareProfile machine = SmallMachine(SlowPart::kCompute);
  PlanRequest request = Request(machine);
  PlanAnswer answer = Make(request);
  ASSERT_TRUE(answer.feasible);
  // Everything fits, and yet the plan is one that recomputes for nothing and uses much memory.
  StreamPlan& plan = *answer.search.plan;
  plan.recompute = true;
  plan.anchor_interval = 1;
  plan.resident_chunks = 0;
  const absl::StatusOr<Schedule> schedule = BuildSchedule(spec_, job_, plan);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const Setting setting{.profile = machine};
  PredictedRun run = PredictRun(spec_, *schedule, setting);
  ASSERT_GT(run.prediction.step_seconds, 1.05 * answer.search.prediction.step_seconds);
  answer.search.prediction = run.prediction;
  answer.search.prediction.memory.totals[static_cast<size_t>(Memory::kDevice)] = 900'000'000_B;
  answer.search.simulation = {.schedule = *schedule, .steady = std::move(run.steady)};
  EXPECT_THAT(NamesOf(FindLimits(request, answer)), Not(Contains("device memory")));
}

// With a slow link every chunk that need not be loaded again counts. What is said is true: with
// that much more memory a full search finds a plan that is as much faster.
TEST_F(FindLimitsTest, DeviceMemoryIsALimitWhereMoreOfItKeepsMoreChunks) {
  int told = 0;
  for (const double bytes : {2.5e6, 3.5e6, 5e6, 7e6, 1e7, 1.6e7}) {
    HardwareProfile machine = SmallMachine(SlowPart::kLink);
    machine.device.memory_bytes.value = BesideScratch(spec_, job_, bytes);
    const PlanRequest request = Request(machine);
    const PlanAnswer answer = Make(request);
    if (!answer.feasible) continue;
    for (const RunLimit& limit : FindLimits(request, answer)) {
      if (limit.what != "device memory") continue;
      ++told;
      HardwareProfile larger = machine;
      larger.device.memory_bytes.value *= kEnlarged;
      const double step = Make(Request(larger)).search.prediction.step_seconds;
      EXPECT_GE(1 - step / answer.search.prediction.step_seconds, limit.gain - 0.003) << bytes;
    }
  }
  EXPECT_GE(told, 2);
}

}  // namespace
}  // namespace horizon
