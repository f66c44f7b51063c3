#include "simulator/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "common/check.h"

namespace horizon {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

const std::vector<OperationCost>& CostsIn(const CostTable& costs, StepKind kind) {
  switch (kind) {
    case StepKind::kFirst:
      return costs.first;
    case StepKind::kSteady:
      return costs.steady;
    case StepKind::kDrain:
      break;
  }
  return costs.drain;
}

// Simulates some steps. Every lane has one operation at its head, which either runs or waits; since
// there are few lanes, each event goes through all of them.
class EventSimulator {
 public:
  EventSimulator(const Schedule& schedule, const CostTable& costs, std::vector<StepKind> steps,
                 Contention contention)
      : schedule_(schedule), costs_(costs), contention_(contention) {
    first_in_lane_.fill(-1);
    result_.timeline.steps = std::move(steps);
    ListOperations();
  }

  Simulation Run() && {
    for (int lane = 0; lane < kLaneCount; ++lane) TakeNext(lane);
    StartReady();
    while (running_ != 0) {
      AdvanceToNextEnd();
      StartReady();
    }
    for (const Head& head : heads_) CHECK(head.entry < 0);  // nothing waits for ever
    return std::move(result_);
  }

 private:
  struct Head {
    int32_t entry = -1;  // -1: the lane has no more operations
    const Operation* operation = nullptr;
    const OperationCost* cost = nullptr;
    const Phase* phase = nullptr;
    uint32_t next_wait = 0;     // the first not known to be over
    int32_t last_awaited = -1;  // the wait that ended last
    int64_t free_since = 0;     // of the lane
    double remaining = 0;       // nanoseconds of full speed
    double speed = 1;
  };

  void ListOperations() {
    std::vector<TimelineEntry>& entries = result_.timeline.entries;
    size_t count = 0;
    for (const StepKind kind : result_.timeline.steps) {
      count += PhaseOf(schedule_, kind).operations.size();
    }
    CHECK(count < std::numeric_limits<int32_t>::max());
    entries.reserve(count);
    next_in_lane_.assign(count, -1);
    result_.awaited.assign(count, -1);
    std::array<int32_t, kLaneCount> last;
    last.fill(-1);
    for (size_t s = 0; s < result_.timeline.steps.size(); ++s) {
      const Phase& phase = PhaseOf(schedule_, result_.timeline.steps[s]);
      CHECK(CostsIn(costs_, result_.timeline.steps[s]).size() == phase.operations.size());
      step_begin_.push_back(static_cast<int32_t>(entries.size()));
      for (size_t i = 0; i < phase.operations.size(); ++i) {
        const Operation& op = phase.operations[i];
        const int32_t entry = static_cast<int32_t>(entries.size());
        const auto lane = static_cast<size_t>(op.lane);
        (last[lane] < 0 ? first_in_lane_[lane] : next_in_lane_[last[lane]]) = entry;
        last[lane] = entry;
        entries.push_back({.step = static_cast<int32_t>(s),
                           .operation = static_cast<OperationId>(i),
                           .lane = op.lane,
                           .start_ns = kNever,
                           .end_ns = kNever,
                           .bytes = op.bytes});
      }
    }
  }

  void TakeNext(int lane) {
    Head& head = heads_[lane];
    head.entry = head.operation == nullptr ? first_in_lane_[lane] : next_in_lane_[head.entry];
    head.last_awaited = -1;
    head.free_since = now_;
    if (head.entry < 0) return;
    const TimelineEntry& entry = result_.timeline.entries[head.entry];
    const StepKind kind = result_.timeline.steps[entry.step];
    head.phase = &PhaseOf(schedule_, kind);
    head.operation = &head.phase->operations[entry.operation];
    head.cost = &CostsIn(costs_, kind)[entry.operation];
    head.next_wait = head.operation->waits.begin;
  }

  int32_t EntryOf(const Wait& wait, int32_t step) const {
    if (!wait.previous_step) return step_begin_[step] + wait.operation;
    CHECK(step > 0);
    const Phase& before = PhaseOf(schedule_, result_.timeline.steps[step - 1]);
    return step_begin_[step - 1] + before.body_begin + wait.operation;
  }

  int64_t EndOf(int32_t entry) const { return result_.timeline.entries[entry].end_ns; }

  bool IsReady(Head& head) {
    const int32_t step = result_.timeline.entries[head.entry].step;
    for (; head.next_wait < head.operation->waits.end; ++head.next_wait) {
      const int32_t awaited = EntryOf(head.phase->wait_pool[head.next_wait], step);
      const int64_t end = EndOf(awaited);
      if (end > now_) return false;
      if (end > head.free_since && (head.last_awaited < 0 || end > EndOf(head.last_awaited))) {
        head.last_awaited = awaited;
      }
    }
    return true;
  }

  void StartReady() {
    bool started = false;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      Head& head = heads_[lane];
      if (head.entry < 0 || (running_ >> lane & 1) != 0 || !IsReady(head)) continue;
      result_.timeline.entries[head.entry].start_ns = now_;
      result_.awaited[head.entry] = head.last_awaited;
      head.remaining = static_cast<double>(head.cost->nanoseconds);
      head.speed = 1;
      running_ |= 1u << lane;
      started = true;
    }
    if (contention_ == Contention::kShared && (started || ended_)) Share();
    ended_ = false;
  }

  void Share() {
    std::array<Sharer, kLaneCount> sharers;
    std::array<double, kLaneCount> speeds;
    size_t count = 0;
    ResourceAmounts wanted{};
    for (int lane = 0; lane < kLaneCount; ++lane) {
      if ((running_ >> lane & 1) == 0) continue;
      const OperationCost& cost = *heads_[lane].cost;
      speeds[count] = CeilingOf(lane);
      sharers[count] = {.draw = &cost.draw, .ceiling = speeds[count], .weight = cost.weight};
      ++count;
      for (int r = 0; r < kResourceCount; ++r) wanted[r] += cost.draw[r];
    }
    bool enough = true;
    for (int r = 0; r < kResourceCount; ++r) enough &= wanted[r] <= costs_.capacity[r];
    if (!enough) ShareFairly({sharers.data(), count}, costs_.capacity, {speeds.data(), count});
    size_t next = 0;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      if ((running_ >> lane & 1) != 0) heads_[lane].speed = speeds[next++];
    }
  }

  // What the lanes that run beside it leave of a lane's speed, whatever there is of cores and DRAM.
  // Work that waits for the limit of a link may take longer as long as there is time to wait.
  double CeilingOf(int lane) const {
    double longer = 1;
    for (int beside = 0; beside < kLaneCount; ++beside) {
      if ((running_ >> beside & 1) == 0) continue;
      longer += heads_[beside].cost->duty * costs_.slowdowns[lane][beside];
    }
    return 1 / std::max(1.0, heads_[lane].cost->duty * longer);
  }

  void AdvanceToNextEnd() {
    int64_t step = kNever;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      if ((running_ >> lane & 1) != 0) step = std::min(step, NanosecondsLeft(heads_[lane]));
    }
    now_ += step;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      if ((running_ >> lane & 1) == 0) continue;
      Head& head = heads_[lane];
      const bool ends = NanosecondsLeft(head) <= step;
      head.remaining -= head.speed * static_cast<double>(step);
      if (!ends) continue;
      result_.timeline.entries[head.entry].end_ns = now_;
      running_ &= ~(1u << lane);
      ended_ = true;
      TakeNext(lane);
    }
  }

  // At full speed `remaining` is a whole number, so nothing is rounded. What rounding leaves below
  // a millionth of a nanosecond is nothing.
  static int64_t NanosecondsLeft(const Head& head) {
    const double left = head.remaining / head.speed;
    return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(left - 1e-6)));
  }

  const Schedule& schedule_;
  const CostTable& costs_;
  const Contention contention_;
  Simulation result_;
  std::vector<int32_t> step_begin_;
  std::vector<int32_t> next_in_lane_;  // by entry
  std::array<int32_t, kLaneCount> first_in_lane_;
  std::array<Head, kLaneCount> heads_;
  uint32_t running_ = 0;  // a bit for each lane
  bool ended_ = false;
  int64_t now_ = 0;
};

}  // namespace

Simulation Simulate(const Schedule& schedule, const CostTable& costs, std::vector<StepKind> steps,
                    Contention contention) {
  return EventSimulator(schedule, costs, std::move(steps), contention).Run();
}

}  // namespace horizon
