#include "planner/search_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/planned_job.h"
#include "schedule/build/build_schedule.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::HasSubstr;

constexpr double kDefaultTolerance = 0.002;
constexpr SearchOptions kExact{.tolerance = 0,
                               .most_simulated = std::numeric_limits<int64_t>::max()};

// What a search must find, by looking at every plan of a space without kAsManyAsFit.
struct Oracle {
  double step_seconds = std::numeric_limits<double>::infinity();
  uint64_t device_bytes = 0;  // least of those as fast
  uint64_t least_lacking = std::numeric_limits<uint64_t>::max();
  int64_t plans = 0;
  int64_t fitting = 0;
};

uint64_t LackingBytes(const std::vector<Shortage>& shortages) {
  uint64_t lacking = 0;
  for (const Shortage& shortage : shortages)
    lacking += (shortage.needed - shortage.available).value();
  return lacking;
}

Oracle SimulateAll(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                   const Setting& setting) {
  Oracle oracle;
  for (const StreamPlan& plan : PlansOf(space)) {
    ++oracle.plans;
    const absl::StatusOr<Prediction> prediction = Predict(spec, job, plan, setting);
    if (!prediction.ok()) continue;
    if (!prediction->fits()) {
      oracle.least_lacking = std::min(oracle.least_lacking, LackingBytes(prediction->shortages));
      continue;
    }
    ++oracle.fitting;
    const uint64_t device = prediction->memory.device_bytes().value();
    if (prediction->step_seconds < oracle.step_seconds) {
      oracle.step_seconds = prediction->step_seconds;
      oracle.device_bytes = device;
    } else if (prediction->step_seconds == oracle.step_seconds) {
      oracle.device_bytes = std::min(oracle.device_bytes, device);
    }
  }
  return oracle;
}

// A plan that is handed out builds, is right, fits with the margin, and does what was predicted.
void ExpectSound(const ModelSpec& spec, const TrainingJob& job, const SearchResult& result,
                 const Setting& setting) {
  ASSERT_TRUE(result.plan.has_value());
  const absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, *result.plan);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const absl::Status verified = VerifySchedule(*schedule);
  EXPECT_TRUE(verified.ok()) << verified;
  const Prediction prediction = PredictRun(spec, *schedule, setting).prediction;
  EXPECT_TRUE(prediction.fits());
  EXPECT_EQ(prediction.step_seconds, result.prediction.step_seconds);
  // What it was predicted from is handed out with it.
  ASSERT_TRUE(result.simulation.has_value());
  EXPECT_EQ(result.simulation->schedule.plan, *result.plan);
  EXPECT_EQ(result.simulation->schedule.memory.totals, schedule->memory.totals);
  EXPECT_EQ(result.simulation->schedule.steady.operations.size(),
            schedule->steady.operations.size());
  EXPECT_EQ(result.simulation->steady.step_seconds(), result.prediction.step_seconds);
  EXPECT_LE(static_cast<double>(prediction.memory.device_bytes()),
            setting.profile.device.memory_bytes.value * (1 - setting.margin));
  EXPECT_LE(static_cast<double>(prediction.memory.host_bytes()),
            setting.profile.host.memory_bytes.value * (1 - setting.margin));
}

void ExpectFindsTheOptimum(const ModelSpec& spec, const TrainingJob& job, const PlanSpace& space,
                           const Setting& setting, const std::string& what) {
  SCOPED_TRACE(what);
  const Oracle oracle = SimulateAll(spec, job, space, setting);
  const SearchResult all = SearchExhaustively(spec, job, space, setting);
  EXPECT_EQ(all.plans, oracle.plans);
  ASSERT_EQ(all.fitting, oracle.fitting);
  EXPECT_EQ(all.simulated, oracle.fitting);
  EXPECT_EQ(all.plan.has_value(), oracle.fitting > 0);
  if (oracle.fitting == 0) {
    EXPECT_EQ(LackingBytes(all.shortages), oracle.least_lacking);
    return;
  }
  EXPECT_EQ(all.prediction.step_seconds, oracle.step_seconds);
  EXPECT_EQ(all.prediction.memory.device_bytes(), Bytes(oracle.device_bytes));
  EXPECT_EQ(all.gap, 0);
  const SearchResult exact = SearchPlan(spec, job, space, setting, kExact);
  EXPECT_EQ(exact.prediction.step_seconds, oracle.step_seconds);
  EXPECT_LE(exact.simulated, all.simulated);
  const SearchResult close =
      SearchPlan(spec, job, space, setting, {.most_simulated = kExact.most_simulated});
  EXPECT_EQ(close.gap, 0);
  EXPECT_GE(close.prediction.step_seconds, oracle.step_seconds);
  EXPECT_LE(close.prediction.step_seconds * (1 - kDefaultTolerance), oracle.step_seconds);
  // The usual search says itself when it gave up early; what it finds is within what it says.
  const SearchResult usual = SearchPlan(spec, job, space, setting);
  const double promised = std::max(kDefaultTolerance, usual.gap);
  EXPECT_GE(usual.prediction.step_seconds, oracle.step_seconds);
  EXPECT_LE(usual.prediction.step_seconds * (1 - promised), oracle.step_seconds);
  EXPECT_LE(usual.prediction.step_seconds * 0.98, oracle.step_seconds);
  for (const SearchResult* result : {&all, &exact, &close, &usual}) {
    ExpectSound(spec, job, *result, setting);
  }
}

TEST(SearchPlan, FindsTheOptimumWhateverIsSlow) {
  const ModelSpec spec = SmallModel(3);
  for (const SlowPart slow : kSlowParts) {
    for (const int64_t accumulation : {1, 3}) {
      const HardwareProfile machine = SmallMachine(slow);
      const TrainingJob job = SmallJob(accumulation);
      ExpectFindsTheOptimum(spec, job, SmallSpace(spec, job), {.profile = machine, .margin = 0.05},
                            "slow part " + std::to_string(static_cast<int>(slow)) +
                                ", accumulation " + std::to_string(accumulation));
    }
  }
}

// Device memory from where everything fits to where nothing does.
TEST(SearchPlan, FindsTheOptimumOfWhatFits) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob(2);
  PlanSpace space = SmallSpace(spec, job);
  space.chunk_bytes.resize(1);
  space.buffer_depth = {2, 4};
  int fitting = 0;
  int partly = 0;
  for (const double megabytes : {8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 25.0, 32.0}) {
    HardwareProfile machine = SmallMachine(SlowPart::kLink);
    machine.device.memory_bytes.value = BesideScratch(spec, job, megabytes * 1e6);
    const Setting setting{.profile = machine, .margin = 0.1};
    ExpectFindsTheOptimum(spec, job, space, setting, std::to_string(megabytes) + " MB");
    const SearchResult result = SearchPlan(spec, job, space, setting);
    fitting += result.plan.has_value() ? 1 : 0;
    partly += result.fitting > 0 && result.fitting < result.plans / 2 ? 1 : 0;
  }
  EXPECT_GT(fitting, 2);
  EXPECT_LT(fitting, 8);
  EXPECT_GT(partly, 0);
}

// Where loads are nearly all of the step its bound is nearly exact, so one that is a little too
// high would prune the best plan: the one whose ring keeps half of the model for backward.
TEST(SearchPlan, FindsTheRingThatSavesLoads) {
  const ModelSpec spec = SmallModel(10);
  const TrainingJob job = SmallJob();
  HardwareProfile machine = SmallMachine();
  machine.link.h2d_pinned = Scaled(std::move(machine.link.h2d_pinned), 0.01);
  PlanSpace space = SmallSpace(spec, job);
  space.chunk_bytes.resize(1);
  space.resident_chunks = {0};
  space.recompute = {true};
  space.buffer_depth = {2, 1, 5, 3};
  const Setting setting{.profile = machine};
  ExpectFindsTheOptimum(spec, job, space, setting, "loads only");
  EXPECT_EQ(SearchPlan(spec, job, space, setting).plan->buffer_depth, 5);
}

TEST(SearchPlan, FindsTheOptimumOfEveryStrategy) {
  const ModelSpec spec = SmallModel();
  for (const EnumWord<Strategy>& strategy : WordsOf(Strategy{})) {
    const HardwareProfile machine = SmallMachine(SlowPart::kLink);
    TrainingJob job = JobFor(machine, strategy.value);
    job.sequence = 128;
    job.accumulation = 2;
    PlanSpace space = SpaceFor(spec, job, machine, PlanFor(strategy.value), {});
    space.anchor_interval.resize(2);
    if (strategy.value == Strategy::kHorizon) continue;  // above
    ExpectFindsTheOptimum(spec, job, space, {.profile = machine, .margin = 0.05},
                          std::string(strategy.word));
  }
}

TEST(SearchPlan, TheNearestPlanIsTheOneThatLacksLeast) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  HardwareProfile machine = SmallMachine();
  machine.device.memory_bytes.value = 2e6;
  const Setting setting{.profile = machine};
  const PlanSpace space = SmallSpace(spec, job);
  const SearchResult result = SearchPlan(spec, job, space, setting);
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_EQ(result.fitting, 0);
  EXPECT_EQ(result.simulated, 0);
  ASSERT_EQ(result.shortages.size(), 1U);
  EXPECT_EQ(result.shortages[0].limit, Limit::kDeviceMemory);
  EXPECT_EQ(result.shortages[0].available, 2'000'000_B);
  const Oracle oracle = SimulateAll(spec, job, space, setting);
  EXPECT_EQ(LackingBytes(result.shortages), oracle.least_lacking);
  const absl::StatusOr<Prediction> nearest = Predict(spec, job, result.nearest, setting);
  ASSERT_TRUE(nearest.ok());
  EXPECT_EQ(LackingBytes(nearest->shortages), oracle.least_lacking);
  const SearchResult found = FindFitting(spec, job, space, setting);
  EXPECT_FALSE(found.plan.has_value());
  EXPECT_EQ(found.nearest, result.nearest);
  EXPECT_EQ(LackingBytes(found.shortages), oracle.least_lacking);
}

TEST(SearchPlan, WhatLacksMayBeRamOrPageLocking) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  HardwareProfile machine = SmallMachine();
  machine.host.memory_bytes.value = 1e7;
  machine.host.memlock_bytes = Figure{.value = 1e6};
  const SearchResult result =
      SearchPlan(spec, job, SmallSpace(spec, job), {.profile = machine, .margin = 0.5});
  ASSERT_EQ(result.shortages.size(), 2U);
  EXPECT_EQ(result.shortages[0].limit, Limit::kHostMemory);
  EXPECT_EQ(result.shortages[0].available, 5'000'000_B);
  EXPECT_EQ(result.shortages[1].limit, Limit::kPageLocking);
  EXPECT_EQ(result.shortages[1].available, 1'000'000_B);
}

TEST(SearchPlan, AsManyChunksAsFitAreResidentAndNotOneMore) {
  const ModelSpec spec = SmallModel(6);
  const TrainingJob job = SmallJob();
  PlanSpace space = SmallSpace(spec, job);
  space.resident_chunks = {kAsManyAsFit};
  space.recompute = {true};
  int some = 0;
  for (const double megabytes : {9.0, 11.5, 13.0, 16.0, 1000.0}) {
    HardwareProfile machine = SmallMachine(SlowPart::kLink);
    machine.device.memory_bytes.value = BesideScratch(spec, job, megabytes * 1e6);
    const Setting setting{.profile = machine, .margin = 0.05};
    for (const StreamPlan& each : PlansOf(space)) {
      PlanSpace one = space;
      one.base = each;
      one.chunk_bytes = {each.chunk_bytes};
      one.buffer_depth = {each.buffer_depth};
      one.anchor_interval = {each.anchor_interval};
      one.anchor_home = {each.anchor_home};
      one.gradient_slabs = {each.gradient_slabs};
      one.loss_chunk_tokens = {each.loss_chunk_tokens};
      one.embedding_home = {each.embedding_home};
      const SearchResult result = FindFitting(spec, job, one, setting);
      StreamPlan more = result.plan.value_or(each);
      more.resident_chunks = result.plan.has_value() ? more.resident_chunks + 1 : 1;
      const absl::StatusOr<Prediction> beyond = Predict(spec, job, more, setting);
      ASSERT_TRUE(beyond.ok());
      const absl::StatusOr<ChunkTable> chunks = CutIntoChunks(spec, job, more);
      ASSERT_TRUE(chunks.ok());
      const int64_t streamed = chunks->layers.size() + chunks->head.size();
      EXPECT_TRUE(!beyond->fits() || more.resident_chunks > streamed) << WritePlan(more);
      if (result.plan.has_value() && more.resident_chunks <= streamed) ++some;
    }
  }
  EXPECT_GT(some, 10);
}

TEST(SearchPlan, APlanWhoseRingCannotHoldABlockIsLeftOut) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob(2);
  const HardwareProfile machine = SmallMachine();
  const Setting setting{.profile = machine};
  PlanSpace space = SmallSpace(spec, job);
  space.chunk_bytes.resize(1);
  space.recompute = {true};
  space.accumulation_order = {AccumulationOrder::kChunkMajor};
  space.anchor_interval = {3};
  space.buffer_depth = {1, 2};
  for (const SearchResult& result :
       {FindFitting(spec, job, space, setting), SearchPlan(spec, job, space, setting)}) {
    EXPECT_FALSE(result.plan.has_value());
    EXPECT_EQ(result.fitting, 0);
    EXPECT_TRUE(result.shortages.empty());
    EXPECT_EQ(result.refusal.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(result.refusal.message()),
                HasSubstr("needs a ring that holds a block"));
  }
  space.buffer_depth = {1, 2, 3};
  const SearchResult found = FindFitting(spec, job, space, setting);
  ASSERT_TRUE(found.plan.has_value());
  EXPECT_EQ(found.plan->buffer_depth, 3);
  EXPECT_TRUE(BuildSchedule(spec, job, *found.plan).ok());
}

TEST(SearchPlan, ChunksThatCannotBeCutAreLeftOut) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  const HardwareProfile machine = SmallMachine();
  PlanSpace space = SmallSpace(spec, job);
  space.chunk_bytes = {Bytes(CheckedU64(7)), 4_MiB};
  const SearchResult result = SearchPlan(spec, job, space, {.profile = machine});
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(result.plan->chunk_bytes, 4_MiB);
  EXPECT_EQ(result.fitting, result.plans / 2);
  EXPECT_THAT(std::string(result.refusal.message()), HasSubstr("chunk_bytes 7 cannot hold"));
}

TEST(SearchPlan, FindsAPlanExactlyWhereTheFrugalOnesDo) {
  const ModelSpec spec = SmallModel(6);
  for (const int64_t sequence : {128, 2048}) {
    TrainingJob job = SmallJob(2, sequence);
    const PlanSpace usual = SpaceFor(spec, job, SmallMachine(), StreamPlan{}, {});
    PlanSpace space = usual;
    space.threads.resize(1);
    space.resident_chunks.resize(1);
    space.gradient_slabs = {1};
    space.buffer_depth = {1, 2};
    int fitting = 0;
    for (double megabytes = sequence == 128 ? 3 : 20; megabytes < 400; megabytes *= 1.09) {
      HardwareProfile machine = SmallMachine();
      machine.device.memory_bytes.value = BesideScratch(spec, job, megabytes * 1e6);
      const Setting setting{.profile = machine};
      const bool any = FindFitting(spec, job, space, setting).plan.has_value();
      EXPECT_EQ(FindFitting(spec, job, FrugalSpace(usual), setting).plan.has_value(), any)
          << megabytes;
      fitting += any ? 1 : 0;
      if (fitting > 2) break;
    }
    EXPECT_GT(fitting, 2);
  }
}

TEST(SearchPlan, GivesTheSameAnswerEveryTime) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob(2);
  const HardwareProfile machine = SmallMachine(SlowPart::kDram);
  const Setting setting{.profile = machine, .margin = 0.05};
  const PlanSpace space = SpaceFor(spec, job, machine, StreamPlan{}, {});
  const SearchResult once = SearchPlan(spec, job, space, setting);
  const SearchResult again = SearchPlan(spec, job, space, setting);
  EXPECT_EQ(once.plan, again.plan);
  EXPECT_EQ(once.prediction.step_seconds, again.prediction.step_seconds);
  EXPECT_EQ(once.simulated, again.simulated);
  EXPECT_EQ(once.gap, again.gap);
  ExpectSound(spec, job, once, setting);
}

TEST(SearchPlan, BoundsSaveMostSimulations) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  for (const SlowPart slow : kSlowParts) {
    const HardwareProfile machine = SmallMachine(slow);
    const SearchResult result =
        SearchPlan(spec, job, SpaceFor(spec, job, machine, StreamPlan{}, {}), {.profile = machine});
    EXPECT_GT(result.fitting, 1000);
    EXPECT_LT(result.simulated, result.fitting / 4);
    EXPECT_GT(result.simulated, 0);
  }
}

TEST(SearchPlan, SaysHowFarItCouldBeOffWhenItStopsEarly) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  const HardwareProfile machine = SmallMachine(SlowPart::kDram);
  const Setting setting{.profile = machine};
  const PlanSpace space = SmallSpace(spec, job);
  const SearchResult early =
      SearchPlan(spec, job, space, setting, {.tolerance = 0, .most_simulated = 1});
  const SearchResult all = SearchPlan(spec, job, space, setting, kExact);
  EXPECT_LT(early.simulated, all.simulated);
  EXPECT_GT(early.gap, 0);
  EXPECT_LT(early.gap, 1);
  EXPECT_GE(all.prediction.step_seconds, early.prediction.step_seconds * (1 - early.gap));
  EXPECT_EQ(all.gap, 0);
}

// In how many fields two plans differ.
int Differences(const StreamPlan& a, const StreamPlan& b) {
  return (a.chunk_bytes != b.chunk_bytes) + (a.buffer_depth != b.buffer_depth) +
         (a.resident_chunks != b.resident_chunks) + (a.anchor_interval != b.anchor_interval) +
         (a.anchor_home != b.anchor_home) + (a.recompute != b.recompute) +
         (a.gradient_slabs != b.gradient_slabs) + (a.accumulation_order != b.accumulation_order) +
         (a.loss_chunk_tokens != b.loss_chunk_tokens) + (a.embedding_home != b.embedding_home);
}

TEST(SearchPlan, NoNeighbourIsFasterEvenWhenItStopsEarly) {
  const ModelSpec spec = SmallModel(3);
  const TrainingJob job = SmallJob(2);
  int neighbours = 0;
  for (const SlowPart slow : kSlowParts) {
    const HardwareProfile machine = SmallMachine(slow);
    const Setting setting{.profile = machine};
    const PlanSpace space = SmallSpace(spec, job);
    const SearchResult early =
        SearchPlan(spec, job, space, setting, {.tolerance = 0, .most_simulated = 1});
    for (const StreamPlan& plan : PlansOf(space)) {
      if (Differences(plan, *early.plan) != 1) continue;
      const absl::StatusOr<Prediction> prediction = Predict(spec, job, plan, setting);
      if (!prediction.ok()) continue;
      EXPECT_GE(prediction->step_seconds, early.prediction.step_seconds)
          << static_cast<int>(slow) << " " << WritePlan(plan);
      ++neighbours;
    }
  }
  EXPECT_GT(neighbours, 20);
}

TEST(SearchPlan, AMarginIsKept) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  const PlanSpace space = SmallSpace(spec, job);
  HardwareProfile machine = SmallMachine(SlowPart::kLink);
  const SearchResult free = SearchPlan(spec, job, space, {.profile = machine});
  // So that the best plan just fits.
  const uint64_t needed = free.prediction.memory.device_bytes().value();
  machine.device.memory_bytes.value = static_cast<double>(needed) * 1.02;
  const SearchResult tight = SearchPlan(spec, job, space, {.profile = machine, .margin = 0.01});
  EXPECT_EQ(tight.plan, free.plan);
  const Setting setting{.profile = machine, .margin = 0.05};
  const SearchResult kept = SearchPlan(spec, job, space, setting);
  ExpectSound(spec, job, kept, setting);
  EXPECT_LT(kept.prediction.memory.device_bytes(), Bytes(needed));
  EXPECT_GE(kept.prediction.step_seconds, free.prediction.step_seconds);
}

// By simulating every plan of the space.
std::vector<double> AllSeconds(const ModelSpec& spec, const TrainingJob& job,
                               const PlanSpace& space, const Setting& setting) {
  std::vector<double> seconds;
  for (const StreamPlan& plan : PlansOf(space)) {
    const absl::StatusOr<Prediction> prediction = Predict(spec, job, plan, setting);
    if (prediction.ok() && prediction->fits()) seconds.push_back(prediction->step_seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

TEST(SearchPlan, HandsOutTheFastestPlansInOrder) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  const PlanSpace space = SmallSpace(spec, job);
  for (const SlowPart slow : kSlowParts) {
    const HardwareProfile machine = SmallMachine(slow);
    const Setting setting{.profile = machine};
    const std::vector<double> all = AllSeconds(spec, job, space, setting);
    SearchOptions options = kExact;
    options.keep_best = 5;
    const SearchResult found = SearchPlan(spec, job, space, setting, options);
    ASSERT_EQ(found.ranked.size(), 5u);
    EXPECT_EQ(found.ranked.front().plan, *found.plan);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(found.ranked[i].step_seconds, all[i]) << i;
      const absl::StatusOr<Prediction> again = Predict(spec, job, found.ranked[i].plan, setting);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->step_seconds, all[i]);
    }
  }
}

TEST(SearchPlan, OtherPlansComeFromAllOverTheSpace) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  const PlanSpace space = SmallSpace(spec, job);
  const HardwareProfile machine = SmallMachine(SlowPart::kLink);
  const Setting setting{.profile = machine};
  SearchOptions options = kExact;
  options.keep_best = 3;
  options.keep_spread = 4;
  const SearchResult found = SearchPlan(spec, job, space, setting, options);
  ASSERT_EQ(found.spread.size(), 4u);
  for (const RankedPlan& other : found.spread) {
    EXPECT_GE(other.step_seconds, found.ranked.back().step_seconds);
    for (const RankedPlan& best : found.ranked) EXPECT_NE(other.plan, best.plan);
  }
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(found.spread[i].plan, found.spread[i - 1].plan);
  const SearchResult again = SearchPlan(spec, job, space, setting, options);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(again.spread[i].plan, found.spread[i].plan);
  // What is asked for beside changes nothing of the answer.
  const SearchResult plain = SearchPlan(spec, job, space, setting, kExact);
  EXPECT_EQ(plain.plan, found.plan);
  EXPECT_TRUE(plain.ranked.empty());
  EXPECT_TRUE(plain.spread.empty());
}

TEST(SearchPlan, WherePlansAreFewAllOfThemAreHandedOut) {
  const ModelSpec spec = SmallModel();
  const TrainingJob job = SmallJob();
  PlanSpace space = SmallSpace(spec, job);
  const HardwareProfile machine = SmallMachine();
  SearchOptions options = kExact;
  options.keep_best = 100'000;
  options.keep_spread = 5;
  const SearchResult found = SearchPlan(spec, job, space, {.profile = machine}, options);
  EXPECT_EQ(static_cast<int64_t>(found.ranked.size()), found.fitting);
  EXPECT_TRUE(found.spread.empty());
}

}  // namespace
}  // namespace horizon
