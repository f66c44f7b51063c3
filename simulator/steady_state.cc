#include "simulator/steady_state.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <vector>

namespace horizon {
namespace {

// A nanosecond a million is rounding of shared speeds, not a different step.
bool IsSameStep(int64_t one, int64_t other) {
  return std::abs(one - other) <= 1 + other / 1'000'000;
}

// When each lane ended its part of each step. Successive marks of a lane lie at least its busy time
// apart, whatever the other lanes do.
class LaneMarks {
 public:
  static constexpr int64_t kNoMark = -1;

  explicit LaneMarks(const Timeline& timeline) {
    for (const StepKind kind : timeline.steps) {
      if (kind != StepKind::kDrain) marks_.emplace_back().fill(kNoMark);
    }
    for (const TimelineEntry& entry : timeline.entries) {
      if (timeline.steps[entry.step] == StepKind::kDrain) continue;
      int64_t& mark = marks_[entry.step][static_cast<size_t>(entry.lane)];
      mark = std::max(mark, entry.end_ns);
    }
  }

  size_t steps() const { return marks_.size(); }
  // The lane that says where a step ends: compute; the one that ends last where nothing computes.
  size_t reference() const {
    const auto compute = static_cast<size_t>(Lane::kCompute);
    if (marks_.back()[compute] != kNoMark) return compute;
    return std::max_element(marks_.back().begin(), marks_.back().end()) - marks_.back().begin();
  }
  int64_t EndOf(size_t step) const { return marks_[step][reference()]; }

  // What a step took on average from the end of `from` to the end of `to`: the most of any lane,
  // since a lane that falls behind will hold up the others sooner or later.
  int64_t StepBetween(size_t from, size_t to) const {
    int64_t longest = 0;
    const auto steps = static_cast<int64_t>(to - from);
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      if (!IsIn(from, lane) || !IsIn(to, lane)) continue;
      longest = std::max(longest, (marks_[to][lane] - marks_[from][lane] + steps - 1) / steps);
    }
    return longest;
  }
  // Every lane took `step` from the end of `from` to that of `from` + 1.
  bool KeepsPace(size_t from, int64_t step) const {
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      if (!IsIn(from, lane) || !IsIn(from + 1, lane)) continue;
      if (!IsSameStep(marks_[from + 1][lane] - marks_[from][lane], step)) return false;
    }
    return true;
  }

 private:
  bool IsIn(size_t step, size_t lane) const { return marks_[step][lane] != kNoMark; }

  std::vector<std::array<int64_t, kLaneCount>> marks_;
};

// Busy time and stalls between two times.
void MeasureWindow(const Schedule& schedule, int64_t from, int64_t to, SteadyState& state) {
  const Timeline& timeline = state.simulation.timeline;
  std::map<std::tuple<Lane, Lane, OperationKind>, int64_t> stalls;
  std::array<int64_t, kLaneCount> lane_end{};
  for (size_t i = 0; i < timeline.entries.size(); ++i) {
    const TimelineEntry& entry = timeline.entries[i];
    const auto lane = static_cast<size_t>(entry.lane);
    const auto within = [&](int64_t begin, int64_t end) {
      return std::max<int64_t>(0, std::min(end, to) - std::max(begin, from));
    };
    state.busy_nanoseconds[lane] += within(entry.start_ns, entry.end_ns);
    const int64_t idle = within(lane_end[lane], entry.start_ns);
    const int32_t awaited = state.simulation.awaited[i];
    if (idle > 0 && awaited >= 0) {
      const TimelineEntry& cause = timeline.entries[awaited];
      const Phase& phase = PhaseOf(schedule, timeline.steps[cause.step]);
      stalls[{entry.lane, cause.lane, phase.operations[cause.operation].kind}] += idle;
    }
    lane_end[lane] = entry.end_ns;
  }
  for (const auto& [key, nanoseconds] : stalls) {
    state.stalls.push_back({.lane = std::get<0>(key),
                            .awaited_lane = std::get<1>(key),
                            .awaited = std::get<2>(key),
                            .nanoseconds = nanoseconds});
  }
  std::stable_sort(state.stalls.begin(), state.stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.nanoseconds > b.nanoseconds; });
}

}  // namespace

SteadyState SimulateSteadyState(const Schedule& schedule, const CostTable& costs,
                                Contention contention) {
  constexpr int64_t kFewestSteps = 4;
  constexpr int64_t kMostSteps = 16;
  SteadyState state;
  for (int64_t steps = kFewestSteps;; steps *= 2) {
    state.simulation = Simulate(schedule, costs, StepsOf(schedule, steps), contention);
    const LaneMarks marks(state.simulation.timeline);
    const size_t last = marks.steps() - 1;
    if (last == 0) {  // a pass that does not repeat
      state.step_nanoseconds = marks.EndOf(0);
      MeasureWindow(schedule, 0, state.step_nanoseconds, state);
      return state;
    }
    // Not the last step: no other follows that would share with its end.
    state.reported_step = static_cast<int32_t>(last - 1);
    state.step_nanoseconds = marks.StepBetween(last - 2, last - 1);
    state.settled = marks.KeepsPace(last - 2, state.step_nanoseconds) &&
                    IsSameStep(marks.EndOf(last) - marks.EndOf(last - 1), state.step_nanoseconds);
    if (!state.settled && steps < kMostSteps) continue;
    if (!state.settled) {
      state.step_nanoseconds = marks.StepBetween(last - 1 - kMostSteps / 2, last - 1);
    }
    const int64_t end = marks.EndOf(last - 1);
    MeasureWindow(schedule, end - state.step_nanoseconds, end, state);
    return state;
  }
}

}  // namespace horizon
