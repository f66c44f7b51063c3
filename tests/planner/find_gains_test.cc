#include "planner/find_gains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class FindGainsTest : public testing::Test {
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
  static std::vector<std::string> NamesOf(const std::vector<Gain>& gains) {
    std::vector<std::string> names;
    for (const Gain& gain : gains) names.push_back(gain.what);
    return names;
  }
  static void ExpectWorthShowing(const std::vector<Gain>& gains, const PlanAnswer& today) {
    double before = 1e9;
    for (const Gain& gain : gains) {
      EXPECT_GE(gain.gain, kNoiseGain) << gain.what;
      EXPECT_LE(gain.gain, before) << gain.what << ": the largest comes first";
      EXPECT_NEAR(gain.tokens_per_second,
                  today.search.prediction.tokens_per_second * (1 + gain.gain),
                  1e-6 * gain.tokens_per_second)
          << gain.what;
      EXPECT_GT(gain.step_seconds, 0) << gain.what;
      before = gain.gain;
    }
  }

  ModelSpec spec_ = SmallModel();
  TrainingJob job_ = SmallJob();
};

// The optimizer streams every moment through DRAM: smaller ones, and fewer updates, are faster.
TEST_F(FindGainsTest, ASlowOptimizerIsHelpedByJobsThatUpdateLess) {
  const HardwareProfile machine = SmallMachine(SlowPart::kDram);
  const PlanRequest request = Request(machine);
  const PlanAnswer today = Make(request);
  const std::vector<Gain> gains = FindFreeGains(request, today);
  ExpectWorthShowing(gains, today);
  EXPECT_THAT(NamesOf(gains), Contains("8-bit moments"));
  EXPECT_THAT(NamesOf(gains), Contains("gradient accumulation of 4"));
  EXPECT_THAT(NamesOf(gains), Contains(testing::StartsWith("batch of ")));
  for (const Gain& gain : gains) {
    EXPECT_THAT(gain.options, HasSubstr("--")) << gain.what;
    EXPECT_FALSE(gain.cost.empty()) << gain.what;
  }
}

TEST_F(FindGainsTest, AProposedBatchIsNotOfferedAgain) {
  const HardwareProfile machine = SmallMachine(SlowPart::kDram);
  PlanRequest request = Request(machine);
  request.propose_batch = true;
  const std::vector<Gain> gains = FindFreeGains(request, Make(request));
  EXPECT_THAT(NamesOf(gains), Not(Contains(testing::StartsWith("batch of "))));
}

TEST_F(FindGainsTest, WhatIsSlowIsWhatToBuy) {
  struct Case {
    SlowPart slow;
    std::string purchase;
  };
  for (const Case& one :
       {Case{SlowPart::kLink, "link x2"}, Case{SlowPart::kDram, "cores and DRAM channels x2"}}) {
    const HardwareProfile machine = SmallMachine(one.slow);
    const PlanRequest request = Request(machine);
    const PlanAnswer today = Make(request);
    const std::vector<Gain> gains = FindPurchaseGains(request, today, {});
    ExpectWorthShowing(gains, today);
    ASSERT_FALSE(gains.empty()) << one.purchase;
    EXPECT_THAT(gains.front().what, HasSubstr(one.purchase));
    EXPECT_EQ(gains.front().options, "");
  }
}

TEST_F(FindGainsTest, FasterCardsAreOffered) {
  const HardwareProfile machine = SmallMachine(SlowPart::kCompute);
  const PlanRequest request = Request(machine);
  const PlanAnswer today = Make(request);
  EXPECT_THAT(NamesOf(FindPurchaseGains(request, today, {CatalogMachine("rtx4090")})),
              Contains(HasSubstr("GeForce RTX 4090")));
}

TEST_F(FindGainsTest, AMachineWithoutACardHasNoneToEnlarge) {
  for (const ChangedSetup& purchase :
       PurchasesOf(job_, CatalogMachine("cpu-desktop"), {CatalogMachine("rtx4090")})) {
    EXPECT_THAT(purchase.what, Not(HasSubstr("link"))) << purchase.what;
    EXPECT_THAT(purchase.what, Not(HasSubstr("device memory"))) << purchase.what;
    EXPECT_THAT(purchase.what, Not(HasSubstr("RTX"))) << purchase.what;
  }
}

// What was fixed by hand stays fixed in every plan that is tried.
TEST_F(FindGainsTest, AChangeThatIsNotPossibleIsLeftOut) {
  job_.optimizer_place = OptimizerPlace::kInBackward;
  job_.clip_norm = 0;
  const HardwareProfile machine = SmallMachine();
  const PlanRequest request = Request(machine);
  EXPECT_THAT(NamesOf(FindFreeGains(request, Make(request))),
              Not(Contains(HasSubstr("accumulation"))));
}

TEST(RunnableMachines, AreThoseOfTheCatalogThatHorizonRunsOn) {
  const absl::StatusOr<std::vector<HardwareProfile>> machines = RunnableMachines();
  ASSERT_TRUE(machines.ok()) << machines.status();
  EXPECT_LT(machines->size(), MachineNames().size());
  const auto named = [&](std::string_view name) {
    return std::any_of(machines->begin(), machines->end(),
                       [&](const HardwareProfile& one) { return one.name == name; });
  };
  EXPECT_TRUE(named("rtx4090"));
  EXPECT_FALSE(named("mi300x"));
}

}  // namespace
}  // namespace horizon
