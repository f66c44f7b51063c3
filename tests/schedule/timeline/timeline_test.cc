// Timelines solved by hand, every operation one nanosecond long unless said otherwise.
#include "schedule/timeline/timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr Lane kH2d = Lane::kH2d, kCompute = Lane::kCompute, kD2h = Lane::kD2h;

void Add(Phase& phase, Lane lane, const std::vector<Wait>& waits, uint64_t bytes = 0) {
  Operation operation{.lane = lane, .bytes = Bytes(bytes)};
  operation.waits.begin = static_cast<uint32_t>(phase.wait_pool.size());
  phase.wait_pool.insert(phase.wait_pool.end(), waits.begin(), waits.end());
  operation.waits.end = static_cast<uint32_t>(phase.wait_pool.size());
  phase.operations.push_back(operation);
}

// "0-1 1-2": start and end of each entry.
std::string Times(const Timeline& timeline) {
  std::string text;
  for (const TimelineEntry& entry : timeline.entries) {
    text += StrCat(text.empty() ? "" : " ", entry.start_ns, "-", entry.end_ns);
  }
  return text;
}

int64_t One(const Operation&) { return 1; }
int64_t ByBytes(const Operation& operation) {
  return static_cast<int64_t>(operation.bytes.value());
}

TEST(EarliestTimeline, OperationsOfALaneFollowEachOther) {
  Schedule schedule;
  for (int i = 0; i < 3; ++i) Add(schedule.first, kCompute, {});
  EXPECT_EQ(Times(EarliestTimeline(schedule, {StepKind::kFirst}, One)), "0-1 1-2 2-3");
}

TEST(EarliestTimeline, LanesRunBesideEachOther) {
  Schedule schedule;
  Add(schedule.first, kH2d, {});
  Add(schedule.first, kCompute, {});
  Add(schedule.first, kH2d, {});
  EXPECT_EQ(Times(EarliestTimeline(schedule, {StepKind::kFirst}, One)), "0-1 0-1 1-2");
}

// load 0, load 1, compute 0 after load 0, compute 1 after load 1, and a load into the first slot
// again, which waits for compute 0. A later load is not started before an earlier one that waits.
TEST(EarliestTimeline, DoubleBuffering) {
  Schedule schedule;
  Add(schedule.first, kH2d, {}, 2);          // 0: 0-2
  Add(schedule.first, kCompute, {{0}}, 5);   // 1: 2-7
  Add(schedule.first, kH2d, {}, 2);          // 2: 2-4
  Add(schedule.first, kCompute, {{2}}, 5);   // 3: 7-12
  Add(schedule.first, kH2d, {{1}}, 2);       // 4: 7-9
  Add(schedule.first, kH2d, {}, 2);          // 5: 9-11, though it waits for nothing
  Add(schedule.first, kD2h, {{3}, {4}}, 1);  // 6: 12-13
  const Timeline timeline = EarliestTimeline(schedule, {StepKind::kFirst}, ByBytes);
  EXPECT_EQ(Times(timeline), "0-2 2-7 2-4 7-12 7-9 9-11 12-13");
  EXPECT_EQ(timeline.end_ns(), 13);
  EXPECT_EQ(timeline.entries[6].lane, kD2h);
  EXPECT_EQ(timeline.entries[6].bytes, 1_B);
  EXPECT_EQ(timeline.entries[6].operation, 6);
}

// The body of `first` is its operations 1 and 2; a wait on the step before counts from there.
TEST(EarliestTimeline, WaitsReachOneStepBackIntoTheBody) {
  Schedule schedule;
  Add(schedule.first, kCompute, {}, 10);  // prologue: 0-10
  schedule.first.body_begin = 1;
  Add(schedule.first, kH2d, {}, 3);     // body 0: 0-3
  Add(schedule.first, kD2h, {{0}}, 4);  // body 1: 10-14
  Add(schedule.steady, kH2d, {{.operation = 1, .previous_step = true}}, 1);
  Add(schedule.steady, kD2h, {{.operation = 0, .previous_step = true}}, 1);
  const Timeline timeline =
      EarliestTimeline(schedule, {StepKind::kFirst, StepKind::kSteady, StepKind::kSteady}, ByBytes);
  // Steady: h2d waits for d2h of the step before (14), d2h for its lane (14); then once more.
  EXPECT_EQ(Times(timeline), "0-10 0-3 10-14 14-15 14-15 15-16 15-16");
  EXPECT_EQ(timeline.entries[3].step, 1);
  EXPECT_EQ(timeline.entries[3].operation, 0);
  EXPECT_EQ(timeline.entries[5].step, 2);
}

// Nothing but waits and lane order separates steps.
TEST(EarliestTimeline, StepsOverlap) {
  Schedule schedule;
  Add(schedule.first, kCompute, {}, 9);
  Add(schedule.steady, kH2d, {}, 2);
  EXPECT_EQ(Times(EarliestTimeline(schedule, {StepKind::kFirst, StepKind::kSteady}, ByBytes)),
            "0-9 0-2");
}

TEST(EarliestTimeline, NothingTakesNoTime) {
  const Timeline timeline = EarliestTimeline({}, {}, One);
  EXPECT_TRUE(timeline.entries.empty());
  EXPECT_EQ(timeline.end_ns(), 0);
}

TEST(EarliestTimelineDeathTest, AWaitBeforeTheFirstStepIsABugOfTheSchedule) {
  Schedule schedule;
  Add(schedule.first, kCompute, {{.operation = 0, .previous_step = true}});
  EXPECT_DEATH(EarliestTimeline(schedule, {StepKind::kFirst}, One), "internal error");
}

TEST(StepsOf, FirstThenSteadyThenDrainWhereTheyExist) {
  Schedule schedule;
  Add(schedule.first, kCompute, {});
  using Kinds = std::vector<StepKind>;
  EXPECT_EQ(StepsOf(schedule, 3), (Kinds{StepKind::kFirst}));
  Add(schedule.steady, kCompute, {});
  EXPECT_EQ(StepsOf(schedule, 1), (Kinds{StepKind::kFirst}));
  EXPECT_EQ(StepsOf(schedule, 3), (Kinds{StepKind::kFirst, StepKind::kSteady, StepKind::kSteady}));
  Add(schedule.drain, kCompute, {});
  EXPECT_EQ(StepsOf(schedule, 2), (Kinds{StepKind::kFirst, StepKind::kSteady, StepKind::kDrain}));
  EXPECT_EQ(StepsOf(schedule, 0), (Kinds{StepKind::kFirst, StepKind::kDrain}));
}

TEST(PhaseOf, GivesThePhaseOfTheKind) {
  const Schedule schedule;
  EXPECT_EQ(&PhaseOf(schedule, StepKind::kFirst), &schedule.first);
  EXPECT_EQ(&PhaseOf(schedule, StepKind::kSteady), &schedule.steady);
  EXPECT_EQ(&PhaseOf(schedule, StepKind::kDrain), &schedule.drain);
}

// 5 us an operation, and what it moves at the rates the header names.
TEST(NominalNanoseconds, FollowsTheStatedRates) {
  const auto nanoseconds = [](Lane lane, uint64_t bytes, uint64_t flops) {
    return NominalNanoseconds({.lane = lane, .bytes = Bytes(bytes), .flops = flops});
  };
  EXPECT_EQ(nanoseconds(Lane::kH2d, 0, 0), 5000);
  EXPECT_EQ(nanoseconds(Lane::kH2d, 25'000'000'000, 0), 1'000'005'000);
  EXPECT_EQ(nanoseconds(Lane::kD2h, 25'000, 99), 6000);
  EXPECT_EQ(nanoseconds(Lane::kCompute, 0, 100'000'000'000'000), 1'000'005'000);
  EXPECT_EQ(nanoseconds(Lane::kHost, 50'000, 0), 6000);
  EXPECT_EQ(nanoseconds(Lane::kOptimizer, 50'000, 0), 6000);
}

}  // namespace
}  // namespace horizon
