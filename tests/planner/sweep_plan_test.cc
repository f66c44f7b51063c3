#include "planner/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/documents/json.h"
#include "planner/planned_job.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SweepPlanTest : public testing::Test {
 protected:
  PlanRequest Request(const HardwareProfile& machine) const {
    return {.spec = spec_,
            .job = job_,
            .fixed = PlanFor(Strategy::kHorizon),
            .fixed_fields = {},
            .setting = {.profile = machine},
            .propose_batch = true};
  }

  ModelSpec spec_ = SmallModel();
  TrainingJob job_ = SmallJob();
};

TEST(ParseSweep, TakesAFieldOrValuesOfIt) {
  EXPECT_EQ(ParseSweep("batch")->field, SweepField::kBatch);
  EXPECT_TRUE(ParseSweep("batch")->values.empty());
  EXPECT_EQ(ParseSweep("sequence")->field, SweepField::kSequence);
  EXPECT_THAT(ParseSweep("batch=4,1,16")->values, ElementsAre(4, 1, 16));
  for (const char* text : {"", "state", "batch=", "batch=1,", "batch=0", "batch=-1", "batch=1.5",
                           "batch=many", "batches", "=1", "sequence=99999999999999999999"}) {
    const absl::StatusOr<Sweep> sweep = ParseSweep(text);
    EXPECT_EQ(sweep.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(sweep.status().message()), HasSubstr("batch=1,2,4")) << text;
  }
}

// As `plan` finds with that batch, and no further than to the first that does not fit.
TEST_F(SweepPlanTest, EachValueIsPlannedByItself) {
  HardwareProfile machine = SmallMachine(SlowPart::kLink);
  machine.device.memory_bytes.value = BesideScratch(spec_, job_, 2e7);
  const Sweep sweep{.field = SweepField::kBatch};
  const std::vector<SweptPlan> plans = SweepPlan(Request(machine), sweep);
  ASSERT_GE(plans.size(), 3U);
  int64_t value = 1;
  for (const SweptPlan& one : plans) {
    EXPECT_EQ(one.value, value);
    value *= 2;
    const bool last = &one == &plans.back();
    EXPECT_EQ(one.answer.feasible, !last);
    PlanRequest alone = Request(machine);
    alone.propose_batch = false;
    alone.job.micro_batch = one.value;
    alone.effort = SearchEffort::kQuick;
    const absl::StatusOr<PlanAnswer> answer = MakePlan(alone);
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->feasible, !last);
    if (last) continue;
    EXPECT_EQ(one.answer.search.prediction.step_seconds, answer->search.prediction.step_seconds);
    EXPECT_FALSE(one.answer.search.prediction.limits.empty());
    EXPECT_TRUE(one.answer.proposals.empty());
  }
  EXPECT_THAT(SweepText(sweep, plans), HasSubstr("does not fit"));
  EXPECT_THAT(SweepText(sweep, plans), HasSubstr("short by "));
}

TEST_F(SweepPlanTest, GivenValuesAreAllTriedAndImpossibleOnesSayWhy) {
  const HardwareProfile machine = SmallMachine();
  const Sweep sweep{.field = SweepField::kSequence, .values = {100'000, 128, 64}};
  const std::vector<SweptPlan> plans = SweepPlan(Request(machine), sweep);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(plans[1].answer.feasible);
  EXPECT_TRUE(plans[2].answer.feasible);
  EXPECT_THAT(SweepText(sweep, plans), HasSubstr("100000: sequence 100000 is longer than"));
  const absl::StatusOr<Document> json = ParseJson("sweep", SweepJson(sweep, plans));
  ASSERT_TRUE(json.ok()) << json.status();
  const Value::Array& values = *json->root.Find("values")->As<Value::Array>();
  ASSERT_EQ(values.size(), 3U);
  EXPECT_NE(values[0].Find("refused"), nullptr);
  EXPECT_EQ(values[0].Find("prediction"), nullptr);
  EXPECT_EQ(*values[1].Find("value")->As<int64_t>(), 128);
  EXPECT_NE(values[1].Find("prediction"), nullptr);
}

}  // namespace
}  // namespace horizon
