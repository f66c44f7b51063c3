// The event simulator on schedules small enough to draw by hand. Capacity is 10 bytes/ns of DRAM
// and of link, and 8 cores (hand_schedule.h).
#include "simulator/simulate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "simulator/steady_state.h"
#include "tests/schedule/random_plans.h"
#include "tests/simulator/hand_schedule.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

constexpr ResourceAmounts Dram(double bytes) { return {0, bytes, 0}; }
constexpr size_t kCompute = static_cast<size_t>(Lane::kCompute);
constexpr size_t kH2d = static_cast<size_t>(Lane::kH2d);

// "0-5 5-9": when each operation ran, in the order of the schedule.
std::string Times(const Simulation& simulation) {
  std::string text;
  for (const TimelineEntry& entry : simulation.timeline.entries) {
    text += StrCat(text.empty() ? "" : " ", entry.start_ns, "-", entry.end_ns);
  }
  return text;
}

Simulation RunOnce(const HandMade& made, Contention contention = Contention::kShared) {
  return Simulate(made.schedule, made.costs, StepsOf(made.schedule, 1), contention);
}

TEST(Simulate, LanesRunBesideEachOtherAndMeetAtWaits) {
  const HandMade made = OneStep({{.lane = Lane::kH2d, .nanoseconds = 5},
                                 {.lane = Lane::kCompute, .nanoseconds = 7, .waits = {{0}}},
                                 {.lane = Lane::kH2d, .nanoseconds = 5},
                                 {.lane = Lane::kCompute, .nanoseconds = 1, .waits = {{2}}},
                                 {.lane = Lane::kD2h, .nanoseconds = 2, .waits = {{1}}}});
  const Simulation simulation = RunOnce(made);
  EXPECT_EQ(Times(simulation), "0-5 5-12 5-10 12-13 12-14");
  // Only the second and the last found their lane idle; the fourth waited for its own lane.
  EXPECT_EQ(simulation.awaited, (std::vector<int32_t>{-1, 0, -1, -1, 1}));
}

// What it waits for ends just as its lane is free: it did not wait.
TEST(Simulate, AWaitThatEndsWithTheLaneIsNoStall) {
  const HandMade made = OneStep({{.lane = Lane::kCompute, .nanoseconds = 5},
                                 {.lane = Lane::kH2d, .nanoseconds = 5},
                                 {.lane = Lane::kCompute, .nanoseconds = 1, .waits = {{1}}}});
  EXPECT_EQ(Times(RunOnce(made)), "0-5 0-5 5-6");
  EXPECT_EQ(RunOnce(made).awaited, (std::vector<int32_t>{-1, -1, -1}));
}

// Beside h2d compute takes 1.5 times as long, beside d2h 2 times: beside both 2.5 times. They begin
// together; the copies lose nothing. Until 10 compute does 10 / 2.5 = 4 of its 20, until 30 beside
// d2h alone 10 more, the last 6 alone: 36.
TEST(Simulate, WhatNeighboursTakeAddsUp) {
  HandMade made = OneStep({{.lane = Lane::kH2d, .nanoseconds = 10},
                           {.lane = Lane::kCompute, .nanoseconds = 20},
                           {.lane = Lane::kD2h, .nanoseconds = 30}});
  made.costs.slowdowns[kCompute][kH2d] = 0.5;
  made.costs.slowdowns[kCompute][static_cast<size_t>(Lane::kD2h)] = 1;
  EXPECT_EQ(Times(RunOnce(made)), "0-10 0-36 0-30");
  EXPECT_EQ(Times(RunOnce(made, Contention::kNone)), "0-10 0-20 0-30");
}

// A copy that works a quarter of its time and else waits for the link's limit: beside it compute,
// which would take twice as long beside a copy, takes a quarter longer. The copy itself would take
// three times as long, three quarters of its time: it waits less and ends when it would have.
TEST(Simulate, WhatWaitsForALimitSlowsAndIsSlowedForTheShareThatItWorks) {
  HandMade made = OneStep(
      {{.lane = Lane::kH2d, .nanoseconds = 100}, {.lane = Lane::kCompute, .nanoseconds = 80}});
  made.costs.first[0].duty = 0.25;
  made.costs.slowdowns[kCompute][kH2d] = 1;
  made.costs.slowdowns[kH2d][kCompute] = 2;
  EXPECT_EQ(Times(RunOnce(made)), "0-100 0-100");
  // Five times as long is a quarter more than all its time.
  made.costs.slowdowns[kH2d][kCompute] = 4;
  EXPECT_EQ(Times(RunOnce(made)), "0-120 0-100");
}

// DRAM is enough for 10 of 8 + 8. Compute may do no more than half of its speed beside the copy and
// draws 4, which leaves 6 for the copy: 3/4. The copy of 12 ends at 16; compute has done 8 of 12
// then and ends alone at 20.
TEST(Simulate, WhatANeighbourKeepsOneFromTheOthersHave) {
  HandMade made = OneStep({{.lane = Lane::kH2d, .nanoseconds = 12, .draw = Dram(8)},
                           {.lane = Lane::kCompute, .nanoseconds = 12, .draw = Dram(8)}});
  made.costs.slowdowns[kCompute][kH2d] = 1;
  EXPECT_EQ(Times(RunOnce(made)), "0-16 0-20");
}

// DRAM is enough for 12 of 8 + 8. With half the weight compute has half the copy's speed, 1/2 and
// 1: the copy loses nothing and ends at 12, when compute has done 6 of its 12.
TEST(Simulate, WhoeverHasLessWeightIsGivenLess) {
  HandMade made = OneStep({{.lane = Lane::kH2d, .nanoseconds = 12, .draw = Dram(8)},
                           {.lane = Lane::kCompute, .nanoseconds = 12, .draw = Dram(8)}});
  made.costs.capacity[static_cast<size_t>(Resource::kDram)] = 12;
  made.costs.first[1].weight = 0.5;
  EXPECT_EQ(Times(RunOnce(made)), "0-12 0-18");
}

TEST(Simulate, AWaitCanReachOneStepBack) {
  const std::vector<HandOperation> body = {
      {.lane = Lane::kH2d, .nanoseconds = 4},
      {.lane = Lane::kCompute, .nanoseconds = 10, .waits = {{0}}}};
  std::vector<HandOperation> steady = body;
  steady[0].waits = {{.operation = 1, .previous_step = true}};
  const HandMade made = Repeating(body, steady);
  const Simulation simulation = Simulate(made.schedule, made.costs, StepsOf(made.schedule, 3));
  EXPECT_EQ(Times(simulation), "0-4 4-14 14-18 18-28 28-32 32-42");
  EXPECT_EQ(simulation.awaited, (std::vector<int32_t>{-1, 0, 1, 2, 3, 4}));
}

// A wait one step back counts from the begin of the body, not from that of the prologue.
TEST(Simulate, AWaitBackCountsFromTheBody) {
  HandMade made = Repeating(
      {{.lane = Lane::kCompute, .nanoseconds = 10}, {.lane = Lane::kH2d, .nanoseconds = 3}},
      {{.lane = Lane::kOptimizer,
        .nanoseconds = 100,
        .waits = {{.operation = 1, .previous_step = true}}},
       {.lane = Lane::kCompute, .nanoseconds = 10},
       {.lane = Lane::kH2d, .nanoseconds = 3}});
  made.schedule.steady.body_begin = 1;
  // Adam waits for the copy of the step before, which is the second of the body: 3-103, then (the
  // copy of the second step ends at 6) right after itself.
  EXPECT_EQ(Times(Simulate(made.schedule, made.costs, StepsOf(made.schedule, 3))),
            "0-10 0-3 3-103 10-20 3-6 103-203 20-30 6-9");
}

// Both want all of DRAM: half speed each. After 20 ns the first is done; the second has 40 - 10 =
// 30 left and goes on alone.
TEST(Simulate, TwoOnDramHaveHalfTheSpeedEach) {
  const HandMade made = OneStep({{.lane = Lane::kHost, .nanoseconds = 10, .draw = Dram(10)},
                                 {.lane = Lane::kOptimizer, .nanoseconds = 40, .draw = Dram(10)}});
  EXPECT_EQ(Times(RunOnce(made)), "0-20 0-50");
  EXPECT_EQ(Times(RunOnce(made, Contention::kNone)), "0-10 0-40");
}

// The optimizer runs alone for 10 ns; then a copy of 15 ns at full speed joins, both at half: the
// copy takes 30, and the optimizer has done 10 + 15 of its 30 when it goes on alone: 5 more.
TEST(Simulate, SharingBeginsAndEndsWithTheNeighbour) {
  const HandMade made =
      OneStep({{.lane = Lane::kOptimizer, .nanoseconds = 30, .draw = Dram(10)},
               {.lane = Lane::kHost, .nanoseconds = 10},
               {.lane = Lane::kH2d, .nanoseconds = 15, .waits = {{1}}, .draw = Dram(10)}});
  EXPECT_EQ(Times(RunOnce(made)), "0-45 0-10 10-40");
}

// 10 + 10 + 10 of 10 bytes: a third each; 10 ns take 30 and nothing is lost to rounding. Whoever
// draws nothing is not slowed.
TEST(Simulate, ThirdsAddUp) {
  const HandMade made = OneStep({{.lane = Lane::kOptimizer, .nanoseconds = 10, .draw = Dram(10)},
                                 {.lane = Lane::kHost, .nanoseconds = 10, .draw = Dram(10)},
                                 {.lane = Lane::kH2d, .nanoseconds = 10, .draw = Dram(10)},
                                 {.lane = Lane::kCompute, .nanoseconds = 10}});
  EXPECT_EQ(Times(RunOnce(made)), "0-30 0-30 0-30 0-10");
}

// 7 + 7 of 10 bytes: speed 5/7. 10 ns take 14 exactly; 11 take 15.4, so 16 whole ones.
TEST(Simulate, AnEndIsAWholeNanosecondAndNeverTooEarly) {
  const auto both = [](int64_t nanoseconds) {
    return Times(
        RunOnce(OneStep({{.lane = Lane::kOptimizer, .nanoseconds = nanoseconds, .draw = Dram(7)},
                         {.lane = Lane::kHost, .nanoseconds = nanoseconds, .draw = Dram(7)}})));
  };
  EXPECT_EQ(both(10), "0-14 0-14");
  EXPECT_EQ(both(11), "0-16 0-16");
}

// Why a faster part is never slower only without sharing: what matters is the optimizer, on which
// 100 ns of compute wait. A neighbour that comes sooner takes half its bandwidth: with 10 ns before
// it the optimizer is done at 10; with 2 it has 8 left at 2, which take 16.
TEST(Simulate, AFasterNeighbourCanHoldUpWhatMatters) {
  const auto end = [](int64_t before) {
    return RunOnce(OneStep({{.lane = Lane::kOptimizer, .nanoseconds = 10, .draw = Dram(10)},
                            {.lane = Lane::kCompute, .nanoseconds = 100, .waits = {{0}}},
                            {.lane = Lane::kHost, .nanoseconds = before},
                            {.lane = Lane::kHost, .nanoseconds = 10, .draw = Dram(10)}}))
        .timeline.end_ns();
  };
  EXPECT_EQ(end(10), 110);
  EXPECT_EQ(end(2), 118);
}

// Two ends at once, and a wait for both: `awaited` is the first of those that ended last.
TEST(Simulate, TiesGoToTheFirstWait) {
  const HandMade made = OneStep({{.lane = Lane::kH2d, .nanoseconds = 5},
                                 {.lane = Lane::kHost, .nanoseconds = 5},
                                 {.lane = Lane::kCompute, .nanoseconds = 1, .waits = {{0}, {1}}}});
  EXPECT_EQ(RunOnce(made).awaited, (std::vector<int32_t>{-1, -1, 0}));
}

TEST(Simulate, NothingIsAnEmptyTimeline) {
  EXPECT_TRUE(RunOnce(OneStep({})).timeline.entries.empty());
}

// --- steady state ---

// Compute 10, then a copy of 4 out, then 6 on the host, which the next step's load (5) waits for:
// a step takes 10 + 4 + 6 + 5 = 25, of which compute is busy 10 and waits 15 for the load.
HandMade Chain() {
  std::vector<HandOperation> body = {
      {.lane = Lane::kH2d, .nanoseconds = 5, .kind = OperationKind::kLoadChunk},
      {.lane = Lane::kCompute, .nanoseconds = 10, .waits = {{0}}},
      {.lane = Lane::kD2h,
       .nanoseconds = 4,
       .waits = {{1}},
       .kind = OperationKind::kOffloadGradient},
      {.lane = Lane::kHost, .nanoseconds = 6, .waits = {{2}}, .kind = OperationKind::kAccumulate}};
  std::vector<HandOperation> steady = body;
  steady[0].waits = {{.operation = 3, .previous_step = true}};
  return Repeating(body, steady);
}

TEST(SteadyState, OfAChainIsItsSum) {
  const HandMade made = Chain();
  const SteadyState state = SimulateSteadyState(made.schedule, made.costs);
  EXPECT_TRUE(state.settled);
  EXPECT_EQ(state.step_nanoseconds, 25);
  EXPECT_DOUBLE_EQ(state.step_seconds(), 25e-9);
  EXPECT_EQ(state.busy_nanoseconds, (std::array<int64_t, kLaneCount>{5, 10, 4, 6, 0}));
  EXPECT_DOUBLE_EQ(state.busy_share(Lane::kCompute), 0.4);
}

TEST(SteadyState, StallsNameWhatWasWaitedFor) {
  const HandMade made = Chain();
  const SteadyState state = SimulateSteadyState(made.schedule, made.costs);
  // Every lane waits for the one before it while the others work.
  ASSERT_EQ(state.stalls.size(), 4u);
  EXPECT_EQ(state.stalls[0].lane, Lane::kD2h);
  EXPECT_EQ(state.stalls[0].awaited, OperationKind::kForward);
  EXPECT_EQ(state.stalls[0].nanoseconds, 21);
  EXPECT_EQ(state.stalls[1].lane, Lane::kH2d);
  EXPECT_EQ(state.stalls[1].awaited_lane, Lane::kHost);
  EXPECT_EQ(state.stalls[1].awaited, OperationKind::kAccumulate);
  EXPECT_EQ(state.stalls[1].nanoseconds, 20);
  EXPECT_EQ(state.stalls[2].lane, Lane::kHost);
  EXPECT_EQ(state.stalls[2].nanoseconds, 19);
  EXPECT_EQ(state.stalls[3].lane, Lane::kCompute);
  EXPECT_EQ(state.stalls[3].awaited_lane, Lane::kH2d);
  EXPECT_EQ(state.stalls[3].awaited, OperationKind::kLoadChunk);
  EXPECT_EQ(state.stalls[3].nanoseconds, 15);
}

// Compute could take a step every 10 ns, but the host needs 12 for each and nothing holds compute
// back: in the long run the host decides, though compute's own steps look settled.
TEST(SteadyState, TheLaneThatFallsBehindDecides) {
  const std::vector<HandOperation> body = {
      {.lane = Lane::kCompute, .nanoseconds = 10},
      {.lane = Lane::kHost, .nanoseconds = 12, .waits = {{0}}}};
  const HandMade made = Repeating(body, body);
  const SteadyState state = SimulateSteadyState(made.schedule, made.costs);
  EXPECT_FALSE(state.settled);
  EXPECT_EQ(state.step_nanoseconds, 12);
}

// Compute waits for the host of the step before, which by way of two copies waits for the compute
// of the step before that: 1 + 4 + 4 + 1 = 10 ns every two steps. They take 4 and 6 in turn:
//   compute 0-1, 9-10, 13-14, 19-20, 23-24, ...   host 8-9, 12-13, 18-19, 22-23, ...
TEST(SteadyState, OfStepsThatAlternateIsTheAverage) {
  const std::vector<HandOperation> first = {
      {.lane = Lane::kCompute, .nanoseconds = 1},
      {.lane = Lane::kD2h, .nanoseconds = 4},
      {.lane = Lane::kH2d, .nanoseconds = 4, .waits = {{1}}},
      {.lane = Lane::kHost, .nanoseconds = 1, .waits = {{2}}}};
  std::vector<HandOperation> steady = first;
  steady[0].waits = {{.operation = 3, .previous_step = true}};
  steady[1].waits = {{.operation = 0, .previous_step = true}};
  const HandMade made = Repeating(first, steady);
  const SteadyState state = SimulateSteadyState(made.schedule, made.costs);
  EXPECT_FALSE(state.settled);
  EXPECT_EQ(state.step_nanoseconds, 5);
}

TEST(SteadyState, OfAPassThatDoesNotRepeatIsItsEnd) {
  const HandMade made =
      OneStep({{.lane = Lane::kHost, .nanoseconds = 30}, {.lane = Lane::kHost, .nanoseconds = 12}});
  const SteadyState state = SimulateSteadyState(made.schedule, made.costs);
  EXPECT_EQ(state.step_nanoseconds, 42);
  EXPECT_DOUBLE_EQ(state.busy_share(Lane::kHost), 1);
}

Schedule TinySchedule(const TrainingJob& job, const StreamPlan& plan) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(TinyModel(), job, plan);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

TrainingJob TinyJob() {
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  job.sequence = 16;
  return job;
}

// A real schedule with a cost of 1000 ns for a launch and a link's latency, and all else far below:
// in `resident` one lane does everything but the clip factor, for which it waits, so a step is the
// sum of its operations.
TEST(SteadyState, OfAResidentStepIsTheSumOfWhatIsNotBesideAnything) {
  StreamPlan plan;
  plan.strategy = Strategy::kResident;
  plan.embedding_home = EmbeddingHome::kDevice;
  const Schedule schedule = TinySchedule(TinyJob(), plan);
  const HardwareProfile profile = TestProfile();
  const ModelSpec spec = TinyModel();
  const CostModel model(spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const CostTable costs = CostsOf(schedule, model);
  int64_t sum = 0;
  int64_t clip = 0;
  // On their way to the host, which takes the clip factor from them: of the last chunk at least,
  // and of all where they queue.
  int64_t last_norms = 0;
  int64_t all_norms = 0;
  for (size_t i = 0; i < costs.steady.size(); ++i) {
    const Operation& operation = schedule.steady.operations[i];
    if (operation.lane == Lane::kCompute) sum += costs.steady[i].nanoseconds;
    if (operation.kind == OperationKind::kClipFactor) clip += costs.steady[i].nanoseconds;
    if (operation.kind != OperationKind::kOffloadNorms) continue;
    last_norms = costs.steady[i].nanoseconds;
    all_norms += last_norms;
  }
  const SteadyState state = SimulateSteadyState(schedule, costs);
  EXPECT_TRUE(state.settled);
  EXPECT_GT(clip, 0);
  EXPECT_GT(last_norms, 0);
  EXPECT_GE(state.step_nanoseconds, sum + last_norms + clip);
  EXPECT_LE(state.step_nanoseconds, sum + all_norms + clip);
  EXPECT_EQ(state.busy_nanoseconds[kCompute], sum);
}

// In a steady step every lane is busy for exactly its operations.
TEST(SteadyState, BusyTimeIsWhatTheOperationsTake) {
  const Schedule schedule = TinySchedule(TinyJob(), StreamPlan());
  const HardwareProfile profile = TestProfile();
  const ModelSpec spec = TinyModel();
  const CostModel model(spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const CostTable costs = CostsOf(schedule, model);
  std::array<int64_t, kLaneCount> sums{};
  for (size_t i = 0; i < costs.steady.size(); ++i) {
    sums[static_cast<size_t>(schedule.steady.operations[i].lane)] += costs.steady[i].nanoseconds;
  }
  const SteadyState state = SimulateSteadyState(schedule, costs, Contention::kNone);
  EXPECT_TRUE(state.settled);
  EXPECT_EQ(state.busy_nanoseconds, sums);
  EXPECT_GT(state.busy_nanoseconds[kH2d], 0);
}

TEST(Simulate, TheSameInputGivesTheSameOutput) {
  StreamPlan plan;
  plan.buffer_depth = 1;
  const Schedule schedule = TinySchedule(TinyJob(), plan);
  HardwareProfile profile = TestProfile();
  profile.host.dram = Scaled(profile.host.dram, 0.01);
  const ModelSpec spec = TinyModel();
  const CostModel model(spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const CostTable costs = CostsOf(schedule, model);
  const Simulation one = Simulate(schedule, costs, StepsOf(schedule, 5));
  const Simulation two = Simulate(schedule, CostsOf(schedule, model), StepsOf(schedule, 5));
  EXPECT_EQ(Times(one), Times(two));
  EXPECT_EQ(one.awaited, two.awaited);
  EXPECT_NE(Times(one), Times(Simulate(schedule, costs, StepsOf(schedule, 5), Contention::kNone)));
}

}  // namespace
}  // namespace horizon
