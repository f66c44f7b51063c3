#include "planner/make_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/units.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MakePlanTest : public testing::Test {
 protected:
  PlanRequest Request(const HardwareProfile& machine) const {
    return {.spec = spec_,
            .job = job_,
            .fixed = PlanFor(Strategy::kHorizon),
            .fixed_fields = {},
            .setting = {.profile = machine, .margin = 0.05},
            .effort = SearchEffort::kQuick};
  }

  static PlanAnswer Make(const PlanRequest& request) {
    absl::StatusOr<PlanAnswer> answer = MakePlan(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : PlanAnswer{};
  }

  // `device` beside what kernels work in.
  HardwareProfile WithMemories(double device, double host) const {
    HardwareProfile machine = SmallMachine(SlowPart::kLink);
    machine.device.memory_bytes.value = BesideScratch(spec_, job_, device);
    machine.host.memory_bytes.value = host;
    return machine;
  }

  ModelSpec spec_ = SmallModel();
  TrainingJob job_ = SmallJob();
};

TEST_F(MakePlanTest, ProposesNothingUnasked) {
  const HardwareProfile machine = SmallMachine();
  PlanRequest request = Request(machine);
  request.effort = SearchEffort::kFull;
  const PlanAnswer answer = Make(request);
  EXPECT_TRUE(answer.feasible);
  EXPECT_EQ(answer.job, job_);
  EXPECT_TRUE(answer.proposals.empty());
  EXPECT_TRUE(answer.remedies.empty());
  ASSERT_TRUE(answer.search.plan.has_value());
  EXPECT_GT(answer.search.prediction.tokens_per_second, 0);
  EXPECT_TRUE(answer.search.prediction.fits());
}

TEST_F(MakePlanTest, WhatIsProposedIsMarkedAndChangesNothingElse) {
  const HardwareProfile machine = SmallMachine(SlowPart::kLink);
  PlanRequest request = Request(machine);
  request.propose_batch = true;
  request.propose_state = true;
  const PlanAnswer answer = Make(request);
  ASSERT_EQ(answer.proposals.size(), 2U);
  EXPECT_EQ(answer.proposals[0].field, "state_format");
  EXPECT_EQ(answer.proposals[0].value, ToString(answer.job.state_format));
  EXPECT_EQ(answer.proposals[0].reason, "the most exact that fits");
  EXPECT_EQ(answer.proposals[1].field, "micro_batch");
  EXPECT_EQ(answer.proposals[1].value, std::to_string(answer.job.micro_batch));
  EXPECT_THAT(answer.proposals[1].reason, HasSubstr("3 %"));
  TrainingJob otherwise = answer.job;
  otherwise.micro_batch = job_.micro_batch;
  otherwise.state_format = job_.state_format;
  EXPECT_EQ(otherwise, job_);
}

TEST_F(MakePlanTest, ALinkThatIsSlowWantsALargerBatch) {
  const HardwareProfile slow = SmallMachine(SlowPart::kLink);
  PlanRequest request = Request(slow);
  request.propose_batch = true;
  const PlanAnswer answer = Make(request);
  EXPECT_GT(answer.job.micro_batch, 1);
  // Half as much is more than 3 % slower: that is why it was not proposed.
  PlanRequest half = Request(slow);
  half.job.micro_batch = answer.job.micro_batch / 2;
  EXPECT_LT(Make(half).search.prediction.tokens_per_second,
            answer.search.prediction.tokens_per_second * 0.985);
}

TEST_F(MakePlanTest, ALargerBatchIsNotProposedForLittleGain) {
  for (const SlowPart slow : kSlowParts) {
    const HardwareProfile machine = SmallMachine(slow);
    PlanRequest request = Request(machine);
    request.propose_batch = true;
    const PlanAnswer answer = Make(request);
    ASSERT_TRUE(answer.feasible);
    if (answer.job.micro_batch == 1) continue;
    // With room for error, since proposals come from a coarse search.
    PlanRequest half = Request(machine);
    half.job.micro_batch = answer.job.micro_batch / 2;
    EXPECT_GT(answer.search.prediction.tokens_per_second,
              Make(half).search.prediction.tokens_per_second * 1.015)
        << static_cast<int>(slow);
  }
}

TEST_F(MakePlanTest, ABatchIsProposedWithinTheMemory) {
  const HardwareProfile large = WithMemories(1e9, 8e9);
  const HardwareProfile small = WithMemories(1.6e7, 8e9);
  PlanRequest much = Request(large);
  PlanRequest little = Request(small);
  much.propose_batch = little.propose_batch = true;
  const PlanAnswer with_much = Make(much);
  const PlanAnswer with_little = Make(little);
  ASSERT_TRUE(with_little.feasible);
  EXPECT_LT(with_little.job.micro_batch, with_much.job.micro_batch);
}

// The batch of the request does not matter where one is proposed.
TEST_F(MakePlanTest, AProposedBatchAndStateStartFromTheSmallest) {
  const HardwareProfile machine = WithMemories(3e7, 8e9);
  PlanRequest request = Request(machine);
  request.propose_batch = request.propose_state = true;
  const PlanAnswer usual = Make(request);
  request.job.micro_batch = 100'000;
  const PlanAnswer answer = Make(request);
  EXPECT_TRUE(answer.feasible);
  EXPECT_EQ(answer.job, usual.job);
}

TEST_F(MakePlanTest, TheMostExactStateThatFitsIsProposed) {
  // 3.1 M parameters: 12 bytes of state and 2 of gradient with fp32 moments.
  std::vector<StateFormat> proposed;
  for (double host = 6.5e7; host > 2e7; host /= 1.1) {
    const HardwareProfile machine = WithMemories(1e9, host);
    PlanRequest request = Request(machine);
    request.propose_state = true;
    const PlanAnswer answer = Make(request);
    if (!answer.feasible) {
      EXPECT_EQ(answer.job.state_format, StateFormat::k8BitMoments);
      EXPECT_EQ(answer.proposals[0].reason, "the smallest, though none fits");
      break;
    }
    // A more exact one would not have fitted.
    for (const StateFormat format : {StateFormat::kFp32, StateFormat::kBf16Moments}) {
      if (format == answer.job.state_format) break;
      if (answer.job.state_format == StateFormat::kFp32) break;
      PlanRequest exact = Request(machine);
      exact.job.state_format = format;
      EXPECT_FALSE(Make(exact).feasible) << host;
    }
    if (proposed.empty() || proposed.back() != answer.job.state_format) {
      proposed.push_back(answer.job.state_format);
    }
  }
  EXPECT_THAT(proposed, testing::ElementsAre(StateFormat::kFp32, StateFormat::kBf16Moments,
                                             StateFormat::k8BitMoments));
}

// Each strategy alone, and both at once: the faster one is chosen, the other one is told.
TEST_F(MakePlanTest, TheFasterStrategyIsChosenAndTheOtherOneTold) {
  const HardwareProfile machine = SmallMachine(SlowPart::kLink);
  PlanRequest request = Request(machine);
  request.effort = SearchEffort::kFull;
  const PlanAnswer streamed = Make(request);
  ASSERT_TRUE(streamed.feasible);
  EXPECT_TRUE(streamed.search.strategies.empty()) << "nothing was compared";
  request.fixed.strategy = Strategy::kResident;
  const PlanAnswer resident = Make(request);
  ASSERT_TRUE(resident.feasible);
  const double streamed_step = streamed.search.prediction.step_seconds;
  const double resident_step = resident.search.prediction.step_seconds;
  EXPECT_LT(resident_step, streamed_step / 2) << "nothing crosses the slow link";

  request.fixed = PlanFor(Strategy::kHorizon);
  request.all_strategies = true;
  const PlanAnswer both = Make(request);
  ASSERT_TRUE(both.feasible);
  EXPECT_EQ(both.job, job_) << "a strategy never changes the job";
  EXPECT_EQ(both.search.plan->strategy, Strategy::kResident);
  EXPECT_EQ(both.search.prediction.step_seconds, resident_step);
  ASSERT_EQ(both.search.strategies.size(), 2U);
  EXPECT_EQ(both.search.strategies[0].strategy, Strategy::kHorizon);
  EXPECT_EQ(both.search.strategies[1].strategy, Strategy::kResident);
  // Only a few plans of the other strategy are simulated.
  EXPECT_GE(*both.search.strategies[0].step_seconds, streamed_step);
  EXPECT_LE(*both.search.strategies[0].step_seconds, streamed_step * 1.05);
  EXPECT_EQ(*both.search.strategies[1].step_seconds, resident_step);
}

TEST_F(MakePlanTest, AStrategyThatDoesNotFitSaysWhatLacks) {
  HardwareProfile machine = SmallMachine(SlowPart::kLink);
  // 3.1 M parameters with 16 bytes each do not fit, a few of their chunks do.
  machine.device.memory_bytes.value = BesideScratch(spec_, job_, 2.5e7);
  PlanRequest request = Request(machine);
  request.all_strategies = true;
  const PlanAnswer answer = Make(request);
  ASSERT_TRUE(answer.feasible);
  EXPECT_EQ(answer.search.plan->strategy, Strategy::kHorizon);
  ASSERT_EQ(answer.search.strategies.size(), 2U);
  const StrategyOutcome& resident = answer.search.strategies[1];
  EXPECT_FALSE(resident.step_seconds.has_value());
  ASSERT_EQ(resident.shortages.size(), 1U);
  EXPECT_EQ(resident.shortages[0].limit, Limit::kDeviceMemory);
  // By itself it is short of the same.
  request.all_strategies = false;
  request.fixed.strategy = Strategy::kResident;
  const PlanAnswer alone = Make(request);
  ASSERT_FALSE(alone.feasible);
  EXPECT_LE(resident.shortages[0].needed, alone.search.shortages[0].needed);
}

// Little RAM and a large device: only what streams nothing fits.
TEST_F(MakePlanTest, AModelThatFitsOnTheDeviceAloneIsPlanned) {
  const HardwareProfile machine = WithMemories(1e9, 2e7);
  PlanRequest request = Request(machine);
  EXPECT_FALSE(Make(request).feasible);
  request.all_strategies = true;
  const PlanAnswer answer = Make(request);
  ASSERT_TRUE(answer.feasible);
  EXPECT_EQ(answer.search.plan->strategy, Strategy::kResident);
}

// What is fixed by hand holds for every strategy: one that cannot have it is out.
TEST_F(MakePlanTest, AFixedFieldRulesOutAStrategyThatCannotHaveIt) {
  const HardwareProfile machine = SmallMachine(SlowPart::kLink);
  PlanRequest request = Request(machine);
  request.all_strategies = true;
  request.fixed.embedding_home = EmbeddingHome::kHost;
  request.fixed_fields = {"embedding_home"};
  const PlanAnswer answer = Make(request);
  ASSERT_TRUE(answer.feasible);
  EXPECT_EQ(answer.search.plan->strategy, Strategy::kHorizon);
  EXPECT_FALSE(answer.search.strategies[1].step_seconds.has_value());
  EXPECT_TRUE(answer.search.strategies[1].shortages.empty());
}

TEST_F(MakePlanTest, OnTheHostDeviceThereIsOneStrategy) {
  TrainingJob job = job_;
  EXPECT_EQ(StrategiesFor(job), (std::vector{Strategy::kHorizon, Strategy::kResident}));
  PlaceOn(DeviceKind::kHost, job);
  EXPECT_EQ(StrategiesFor(job), std::vector{Strategy::kHorizon});
}

TEST_F(MakePlanTest, AJobThatContradictsTheModelIsRefused) {
  const HardwareProfile machine = SmallMachine();
  PlanRequest request = Request(machine);
  request.job.sequence = spec_.max_positions + 1;
  const absl::Status status = MakePlan(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("sequence 4097"), HasSubstr("4096 positions of small")));
}

TEST_F(MakePlanTest, WhatCannotBeBuiltIsRefusedWithTheReason) {
  const HardwareProfile machine = SmallMachine();
  PlanRequest request = Request(machine);
  request.job.accumulation = 2;
  request.fixed.accumulation_order = AccumulationOrder::kChunkMajor;
  request.fixed.anchor_interval = 3;
  request.fixed.buffer_depth = 2;
  request.fixed_fields = {"accumulation_order", "anchor_interval", "buffer_depth", "recompute"};
  EXPECT_THAT(std::string(MakePlan(request).status().message()),
              HasSubstr("needs a ring that holds a block"));
  // With the depth left open it is found, though the least depth cannot be built.
  request.fixed_fields = {"accumulation_order", "anchor_interval", "recompute"};
  const PlanAnswer answer = Make(request);
  ASSERT_TRUE(answer.feasible);
  EXPECT_GE(answer.search.plan->buffer_depth, 3);

  PlanRequest tile = Request(machine);
  tile.fixed.loss_chunk_tokens = 100;
  tile.fixed_fields = {"loss_chunk_tokens"};
  const absl::Status status = MakePlan(tile).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("must be a multiple of 128"));
}

TEST_F(MakePlanTest, FixedFieldsAreKept) {
  const HardwareProfile machine = SmallMachine();
  PlanRequest request = Request(machine);
  request.fixed.anchor_interval = 4;
  request.fixed.buffer_depth = 1;
  request.fixed.recompute = true;
  request.fixed_fields = {"anchor_interval", "buffer_depth", "recompute"};
  for (const SearchEffort effort : {SearchEffort::kFull, SearchEffort::kQuick}) {
    request.effort = effort;
    const PlanAnswer answer = Make(request);
    ASSERT_TRUE(answer.feasible);
    EXPECT_EQ(answer.search.plan->anchor_interval, 4);
    EXPECT_EQ(answer.search.plan->buffer_depth, 1);
    EXPECT_TRUE(answer.search.plan->recompute);
  }
}

// From where all fits to where nothing does, the quick search finds a plan where the full one does.
TEST_F(MakePlanTest, AQuickSearchFindsAPlanWhereThereIsOne) {
  int feasible = 0;
  int refused = 0;
  for (double device = 1.4e7; device > 1e6; device /= 1.12) {
    const HardwareProfile machine = WithMemories(device, 8e9);
    PlanRequest request = Request(machine);
    request.effort = SearchEffort::kQuick;
    const PlanAnswer quick = Make(request);
    request.effort = SearchEffort::kFull;
    const PlanAnswer full = Make(request);
    EXPECT_EQ(quick.feasible, full.feasible) << device;
    EXPECT_EQ(quick.feasible, quick.search.plan.has_value()) << device;
    if (full.feasible) {
      EXPECT_GE(quick.search.prediction.step_seconds,
                full.search.prediction.step_seconds * (1 - 0.02));
    }
    ++(full.feasible ? feasible : refused);
  }
  EXPECT_GT(feasible, 2);
  EXPECT_GT(refused, 2);
}

// What the remedy says, done.
void Apply(const std::string& remedy, PlanRequest& request, HardwareProfile& machine) {
  const auto number = [&](const std::string& prefix) {
    return std::stoll(remedy.substr(prefix.size()));
  };
  if (remedy.starts_with("--state ")) {
    request.job.state_format = *ParseWord<StateFormat>(remedy.substr(8));
  } else if (remedy.starts_with("--batch ")) {
    request.job.micro_batch = number("--batch ");
  } else if (remedy.starts_with("--sequence ")) {
    request.job.sequence = number("--sequence ");
  } else if (remedy.starts_with("--optimizer-place in-backward")) {
    request.job.optimizer_place = OptimizerPlace::kInBackward;
    request.job.clip_norm = 0;
  } else {
    MachineOverrides overrides;
    for (const std::string what : {"host memory ", "device memory "}) {
      const size_t at = remedy.find(what);
      if (at == remedy.npos) continue;
      const std::string text = remedy.substr(at + what.size());
      const absl::StatusOr<Bytes> bytes = ParseBytes(text.substr(0, text.find(" and ")));
      ASSERT_TRUE(bytes.ok()) << remedy;
      (what == "host memory " ? overrides.host_memory : overrides.device_memory) = *bytes;
    }
    machine = WithOverrides(machine, overrides);
  }
}

TEST_F(MakePlanTest, EachRemedyMakesItFit) {
  spec_ = SmallModel(8);
  job_.micro_batch = 8;
  job_.sequence = 512;
  struct Case {
    double device;
    double host;
  };
  std::vector<std::string> seen;
  for (const Case& one : {Case{4e7, 8e9}, Case{1e9, 8e7}, Case{2.5e7, 6e7}, Case{3e7, 9e7}}) {
    const HardwareProfile machine = WithMemories(one.device, one.host);
    const PlanAnswer refused = Make(Request(machine));
    ASSERT_FALSE(refused.feasible);
    EXPECT_FALSE(refused.search.plan.has_value());
    ASSERT_FALSE(refused.remedies.empty());
    for (const Remedy& remedy : refused.remedies) {
      HardwareProfile changed = machine;
      PlanRequest request = Request(changed);
      Apply(remedy.what, request, changed);
      EXPECT_TRUE(Make(request).feasible) << remedy.what;
      seen.push_back(remedy.what.substr(0, remedy.what.find(' ')));
    }
  }
  for (const char* const what :
       {"--state", "--optimizer-place", "--batch", "--sequence", "host", "device"}) {
    EXPECT_THAT(seen, testing::Contains(what));
  }
}

TEST_F(MakePlanTest, TheMemoryRemedyIsNoMoreThanNeeded) {
  const HardwareProfile machine = WithMemories(1e9, 4e7);
  const PlanAnswer refused = Make(Request(machine));
  ASSERT_FALSE(refused.feasible);
  ASSERT_EQ(refused.search.shortages.size(), 1U);
  EXPECT_EQ(refused.remedies.front().what, "host memory 1 GiB");
  const double needed = static_cast<double>(refused.search.shortages[0].needed) / 0.95;
  EXPECT_TRUE(Make(Request(WithMemories(1e9, needed + 2))).feasible);
  EXPECT_FALSE(Make(Request(WithMemories(1e9, needed - 4096))).feasible);
}

TEST_F(MakePlanTest, ALimitOfPageLockingIsNamed) {
  HardwareProfile machine = WithMemories(1e9, 8e9);
  machine.host.memlock_bytes = Figure{.value = 1e6};
  const PlanAnswer refused = Make(Request(machine));
  ASSERT_FALSE(refused.feasible);
  EXPECT_EQ(refused.search.shortages.front().limit, Limit::kPageLocking);
  ASSERT_FALSE(refused.remedies.empty());
  EXPECT_EQ(refused.remedies.front().what, "page-locking 1 GiB");
}

TEST_F(MakePlanTest, AMarginCanMakeTheDifference) {
  const PlanAnswer free = Make(Request(WithMemories(1e9, 8e9)));
  ASSERT_TRUE(free.feasible);
  const HardwareProfile machine = WithMemories(1e9, 1e8);
  PlanRequest request = Request(machine);
  request.setting.margin = 0;
  EXPECT_TRUE(Make(request).feasible);
  request.setting.margin = 0.7;
  const PlanAnswer refused = Make(request);
  EXPECT_FALSE(refused.feasible);
  EXPECT_EQ(refused.search.shortages.front().available, 30'000'000_B);
}

TEST(DescribeShortages, SaysWhatLacks) {
  const std::vector<std::string> lines =
      DescribeShortages({{.limit = Limit::kHostMemory, .needed = 3_GiB, .available = 1_GiB}});
  EXPECT_THAT(lines, testing::ElementsAre("short by 2 GiB of host memory (needs 3 GiB, 1 GiB are "
                                          "available)"));
  EXPECT_TRUE(DescribeShortages({}).empty());
}

}  // namespace
}  // namespace horizon
