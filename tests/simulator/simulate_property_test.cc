// Whatever the model, job, plan and machine: what every simulation must obey.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "schedule/build/build_schedule.h"
#include "schedule/timeline/memory_use.h"
#include "simulator/bounds.h"
#include "simulator/simulate.h"
#include "simulator/steady_state.h"
#include "tests/schedule/random_plans.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

absl::StatusOr<Schedule> BuildOrDiscard(const RandomCase& random) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(random.spec, random.job, random.plan);
  if (!schedule.ok()) RC_DISCARD("impossible plan");
  return schedule;
}

// Threads, and chunks small enough that the first layer is often cut into shards too.
void Vary(StreamPlan& plan) {
  for (int64_t* threads : {&plan.h2d_threads, &plan.compute_threads, &plan.d2h_threads,
                           &plan.host_threads, &plan.optimizer_threads}) {
    *threads = *rc::gen::inRange<int64_t>(1, 17);
  }
  const uint64_t smaller = *rc::gen::element<uint64_t>(1, 4, 16);
  plan.chunk_bytes = Bytes(CheckedU64(plan.chunk_bytes.value() / smaller));
}

// A machine that computes where the job says.
HardwareProfile MachineFor(const RandomCase& random) {
  HardwareProfile profile = *RandomProfile();
  profile.device.kind = random.job.device;
  return profile;
}

RandomCase AnyCase() {
  RandomCase random = *rc::gen::element(*RandomAnyCase(), *RandomFrozenCase());
  Vary(random.plan);
  return random;
}

CostTable CostsFor(const RandomCase& random, const Schedule& schedule,
                   const HardwareProfile& profile) {
  return CostsOf(schedule,
                 CostModel(random.spec, schedule.job, schedule.plan, schedule.chunks, profile));
}

const std::vector<OperationCost>& CostsIn(const CostTable& costs, StepKind kind) {
  return kind == StepKind::kFirst    ? costs.first
         : kind == StepKind::kSteady ? costs.steady
                                     : costs.drain;
}

// EarliestTimeline knows nothing of lanes that share, and is written apart from the simulator.
RC_GTEST_PROP(Simulate, WithoutContentionIsTheEarliestTimeline, ()) {
  const RandomCase random = AnyCase();
  const Schedule schedule = *BuildOrDiscard(random);
  const CostTable costs = CostsFor(random, schedule, MachineFor(random));
  std::map<const Operation*, int64_t> durations;
  for (const StepKind kind : {StepKind::kFirst, StepKind::kSteady, StepKind::kDrain}) {
    const Phase& phase = PhaseOf(schedule, kind);
    for (size_t i = 0; i < phase.operations.size(); ++i) {
      durations[&phase.operations[i]] = CostsIn(costs, kind)[i].nanoseconds;
    }
  }
  const Timeline expected =
      EarliestTimeline(schedule, StepsOf(schedule, 3),
                       [&](const Operation& operation) { return durations.at(&operation); });
  const Simulation simulation = Simulate(schedule, costs, StepsOf(schedule, 3), Contention::kNone);
  const Timeline& timeline = simulation.timeline;
  RC_ASSERT(timeline.steps == expected.steps);
  RC_ASSERT(timeline.entries.size() == expected.entries.size());
  for (size_t i = 0; i < timeline.entries.size(); ++i) {
    RC_ASSERT(timeline.entries[i].step == expected.entries[i].step);
    RC_ASSERT(timeline.entries[i].operation == expected.entries[i].operation);
    RC_ASSERT(timeline.entries[i].start_ns == expected.entries[i].start_ns);
    RC_ASSERT(timeline.entries[i].end_ns == expected.entries[i].end_ns);
  }
}

// Every operation once, in the order of its lane, after what it waits for, with its bytes;
// `awaited` names what ended when it started.
void CheckRules(const Schedule& schedule, const Simulation& simulation) {
  const Timeline& timeline = simulation.timeline;
  std::array<int64_t, kLaneCount> lane_free{};
  std::array<int64_t, kLaneCount> lane_end{};
  size_t entry = 0;
  size_t previous_body = 0;
  for (size_t s = 0; s < timeline.steps.size(); ++s) {
    const Phase& phase = PhaseOf(schedule, timeline.steps[s]);
    const size_t begin = entry;
    for (size_t i = 0; i < phase.operations.size(); ++i, ++entry) {
      const Operation& op = phase.operations[i];
      RC_ASSERT(entry < timeline.entries.size());
      const TimelineEntry& ran = timeline.entries[entry];
      const auto lane = static_cast<size_t>(op.lane);
      RC_ASSERT(ran.step == static_cast<int32_t>(s));
      RC_ASSERT(ran.operation == static_cast<OperationId>(i));
      RC_ASSERT(ran.lane == op.lane);
      RC_ASSERT(ran.bytes == op.bytes);
      RC_ASSERT(ran.start_ns >= lane_free[lane]);
      RC_ASSERT(ran.end_ns > ran.start_ns);
      int64_t earliest = lane_free[lane];
      for (const Wait& wait : phase.WaitsOf(op)) {
        const size_t awaited = (wait.previous_step ? previous_body : begin) + wait.operation;
        earliest = std::max(earliest, timeline.entries[awaited].end_ns);
      }
      RC_ASSERT(ran.start_ns == earliest);
      const int32_t awaited = simulation.awaited[entry];
      RC_ASSERT((awaited >= 0) == (ran.start_ns > lane_free[lane]));
      if (awaited >= 0) RC_ASSERT(timeline.entries[awaited].end_ns == ran.start_ns);
      lane_free[lane] = lane_end[lane] = ran.end_ns;
    }
    previous_body = begin + phase.body_begin;
  }
  RC_ASSERT(entry == timeline.entries.size());
}

RC_GTEST_PROP(Simulate, RunsEveryOperationOnceInOrderAndAfterItsWaits, ()) {
  const RandomCase random = AnyCase();
  const Schedule schedule = *BuildOrDiscard(random);
  const CostTable costs = CostsFor(random, schedule, MachineFor(random));
  const Contention contention = *rc::gen::element(Contention::kShared, Contention::kNone);
  CheckRules(schedule, Simulate(schedule, costs, StepsOf(schedule, 3), contention));
}

RC_GTEST_PROP(Simulate, MemoryOverTimeStaysWithinTheLayout, ()) {
  const RandomCase random = AnyCase();
  const Schedule schedule = *BuildOrDiscard(random);
  const CostTable costs = CostsFor(random, schedule, MachineFor(random));
  const Simulation simulation = Simulate(schedule, costs, StepsOf(schedule, 2));
  for (const MemoryChange& change : MemoryOverTime(schedule, simulation.timeline)) {
    for (int m = 0; m < kMemoryCount; ++m) {
      RC_ASSERT(change.bytes[m] <= schedule.memory.totals[m]);
    }
  }
}

// Sharing makes operations longer, and with fixed lanes a longer operation makes nothing earlier.
RC_GTEST_PROP(Simulate, SharingMakesNothingEarlier, ()) {
  const RandomCase random = AnyCase();
  const Schedule schedule = *BuildOrDiscard(random);
  const CostTable costs = CostsFor(random, schedule, MachineFor(random));
  const std::vector<StepKind> steps = StepsOf(schedule, 3);
  const Timeline alone = Simulate(schedule, costs, steps, Contention::kNone).timeline;
  const Timeline shared = Simulate(schedule, costs, steps, Contention::kShared).timeline;
  for (size_t i = 0; i < alone.entries.size(); ++i) {
    RC_ASSERT(shared.entries[i].start_ns >= alone.entries[i].start_ns);
    RC_ASSERT(shared.entries[i].end_ns >= alone.entries[i].end_ns);
    const int64_t duration = alone.entries[i].end_ns - alone.entries[i].start_ns;
    RC_ASSERT(shared.entries[i].end_ns - shared.entries[i].start_ns >= duration);
  }
}

HardwareProfile Faster(HardwareProfile profile, int part) {
  const auto faster = [&](int number, Curve& curve) {
    if (part == number || part == 0) curve = Scaled(std::move(curve), 2);
  };
  const auto higher = [&](int number, Figure& figure, double factor) {
    if (part == number || part == 0) figure.value *= factor;
  };
  faster(1, profile.device.gemm_bf16);
  faster(1, profile.device.gemm_fp32);
  faster(2, profile.device.attention);
  higher(3, profile.device.memory_bytes_per_second, 2);
  higher(3, profile.device.element_bytes_per_second, 2);
  higher(4, profile.device.launch_seconds, 0.5);
  faster(5, profile.link.h2d_pinned);
  faster(5, profile.link.h2d_pageable);
  faster(6, profile.link.d2h_pinned);
  faster(6, profile.link.d2h_pageable);
  higher(7, profile.link.latency_seconds, 0.5);
  higher(8, profile.link.both_ways_bytes_per_second, 2);
  faster(9, profile.host.dram);
  for (Curve& adam : profile.host.adam) faster(10, adam);
  faster(11, profile.host.pack);
  return profile;
}
constexpr int kFasterParts = 12;

RC_GTEST_PROP(Simulate, AFasterMachineIsNeverSlower, ()) {
  const RandomCase random = AnyCase();
  const Schedule schedule = *BuildOrDiscard(random);
  const HardwareProfile profile = MachineFor(random);
  const int part = *rc::gen::inRange(0, kFasterParts);
  const CostTable slow = CostsFor(random, schedule, profile);
  const CostTable fast = CostsFor(random, schedule, Faster(profile, part));
  const std::vector<StepKind> steps = StepsOf(schedule, 3);
  const Timeline before = Simulate(schedule, slow, steps, Contention::kNone).timeline;
  const Timeline after = Simulate(schedule, fast, steps, Contention::kNone).timeline;
  for (size_t i = 0; i < before.entries.size(); ++i) {
    RC_ASSERT(after.entries[i].end_ns <= before.entries[i].end_ns);
  }
  if (part == 0) RC_ASSERT(after.end_ns() < before.end_ns());
}

// The lanes hold to the nanosecond. DRAM's share holds in the long run, so as far as two steps of
// the steady state are alike.
void CheckBound(const StepBound& bound, const SteadyState& steady) {
  for (const int64_t busy : bound.busy_nanoseconds) RC_ASSERT(steady.step_nanoseconds >= busy);
  RC_ASSERT(steady.step_nanoseconds >=
            bound.turn_nanoseconds + bound.busy_nanoseconds[static_cast<size_t>(Lane::kCompute)]);
  if (!steady.settled) return;
  const double slack = 2 + 2e-6 * bound.dram_nanoseconds;
  RC_ASSERT(static_cast<double>(steady.step_nanoseconds) + slack >= bound.dram_nanoseconds);
}

RC_GTEST_PROP(Bound, OfABuiltScheduleIsNeverAboveTheSimulatedStep, ()) {
  const RandomCase random = AnyCase();
  const Schedule schedule = *BuildOrDiscard(random);
  const CostTable costs = CostsFor(random, schedule, MachineFor(random));
  CheckBound(BoundOf(schedule, costs), SimulateSteadyState(schedule, costs));
}

// What prunes the planner's search: if it were above a simulated step, the best plan could be lost.
RC_GTEST_PROP(Bound, OfAnUnbuiltStepIsNeverAboveTheSimulatedStep, ()) {
  RandomCase random = *rc::gen::element(0, 1, 2) == 0 ? AnyCase() : *RandomHorizonCase();
  if (random.job.trains_all() && *rc::gen::arbitrary<bool>()) FreezeSome(random);
  Vary(random.plan);
  const Schedule schedule = *BuildOrDiscard(random);
  const HardwareProfile profile = MachineFor(random);
  const CostModel model(random.spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const CostTable costs = CostsOf(schedule, model);
  const StepBound unbuilt = BoundStep(schedule.job, schedule.plan, schedule.chunks, model);
  const StepBound built = BoundOf(schedule, costs);
  for (int lane = 0; lane < kLaneCount; ++lane) {
    RC_ASSERT(unbuilt.busy_nanoseconds[lane] <= built.busy_nanoseconds[lane]);
  }
  RC_ASSERT(unbuilt.dram_nanoseconds <= built.dram_nanoseconds * (1 + 1e-9));
  const Contention contention = *rc::gen::element(Contention::kShared, Contention::kNone);
  const SteadyState steady = SimulateSteadyState(schedule, costs, contention);
  StepBound bound = unbuilt;
  if (contention == Contention::kNone) bound.dram_nanoseconds = 0;
  CheckBound(bound, steady);
}

// The turn by itself: between the last compute of a step and the first of the next lies no less.
RC_GTEST_PROP(Bound, OfATurnIsNeverAboveTheGapBetweenTwoSteps, ()) {
  RandomCase random = *RandomHorizonCase();
  Vary(random.plan);
  const Schedule schedule = *BuildOrDiscard(random);
  const HardwareProfile profile = MachineFor(random);
  const CostModel model(random.spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const int64_t turn =
      BoundStep(schedule.job, schedule.plan, schedule.chunks, model).turn_nanoseconds;
  const Contention contention = *rc::gen::element(Contention::kShared, Contention::kNone);
  const Simulation simulation =
      Simulate(schedule, CostsOf(schedule, model), StepsOf(schedule, 3), contention);
  std::array<int64_t, 3> first{-1, -1, -1};
  std::array<int64_t, 3> last{};
  for (const TimelineEntry& entry : simulation.timeline.entries) {
    if (entry.lane != Lane::kCompute || entry.step >= 3) continue;
    if (first[entry.step] < 0) first[entry.step] = entry.start_ns;
    last[entry.step] = entry.end_ns;
  }
  RC_ASSERT(turn > 0);
  RC_ASSERT(first[1] - last[0] >= turn);
  RC_ASSERT(first[2] - last[1] >= turn);
}

// With `horizon` all lanes but the host's are known before the schedule is built.
RC_GTEST_PROP(Bound, OfAnUnbuiltHorizonStepIsExactOnFourLanes, ()) {
  RandomCase random = *RandomHorizonCase();
  if (*rc::gen::arbitrary<bool>()) FreezeSome(random);
  Vary(random.plan);
  const Schedule schedule = *BuildOrDiscard(random);
  const HardwareProfile profile = MachineFor(random);
  const CostModel model(random.spec, schedule.job, schedule.plan, schedule.chunks, profile);
  const StepBound unbuilt = BoundStep(schedule.job, schedule.plan, schedule.chunks, model);
  const StepBound built = BoundOf(schedule, CostsOf(schedule, model));
  for (const Lane lane : {Lane::kH2d, Lane::kCompute, Lane::kD2h, Lane::kOptimizer}) {
    RC_ASSERT(unbuilt.busy_nanoseconds[static_cast<size_t>(lane)] ==
              built.busy_nanoseconds[static_cast<size_t>(lane)]);
  }
}

}  // namespace
}  // namespace horizon
