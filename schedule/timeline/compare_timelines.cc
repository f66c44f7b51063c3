#include "schedule/timeline/compare_timelines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "common/statistics.h"

namespace horizon {
namespace {

constexpr double kSecond = 1e9;

Compared SecondsOf(int64_t predicted, int64_t measured) {
  return {.predicted = static_cast<double>(predicted) / kSecond,
          .measured = static_cast<double>(measured) / kSecond};
}

void Add(Compared& sum, const Compared& one) {
  sum.predicted += one.predicted;
  sum.measured += one.measured;
}

bool MissesMore(const Compared& a, const Compared& b) {
  return std::abs(a.difference()) > std::abs(b.difference());
}

}  // namespace

StepDurations DurationsOf(const Schedule& schedule, const Timeline& timeline, int32_t step) {
  CHECK(step >= 0 && static_cast<size_t>(step) < timeline.steps.size());
  CHECK(timeline.steps[static_cast<size_t>(step)] == StepKind::kSteady);
  StepDurations durations(schedule.steady.operations.size(), -1);
  for (const TimelineEntry& entry : timeline.entries) {
    if (entry.step != step) continue;
    durations[static_cast<size_t>(entry.operation)] = entry.end_ns - entry.start_ns;
  }
  CHECK(std::find(durations.begin(), durations.end(), -1) == durations.end());
  return durations;
}

TimelineComparison CompareDurations(const Schedule& schedule, const StepDurations& predicted,
                                    const StepDurations& measured, size_t most) {
  const std::vector<Operation>& operations = schedule.steady.operations;
  CHECK(predicted.size() == operations.size() && measured.size() == operations.size());
  std::map<Lane, LaneComparison> lanes;
  std::map<std::pair<OperationKind, Lane>, KindComparison> kinds;
  std::vector<OperationId> order(operations.size());
  std::iota(order.begin(), order.end(), 0);
  const auto compared = [&](OperationId id) {
    return SecondsOf(predicted[static_cast<size_t>(id)], measured[static_cast<size_t>(id)]);
  };
  for (const OperationId id : order) {
    const Operation& operation = operations[static_cast<size_t>(id)];
    LaneComparison& lane = lanes[operation.lane];
    lane.lane = operation.lane;
    ++lane.operations;
    Add(lane.busy, compared(id));
    KindComparison& kind = kinds[{operation.kind, operation.lane}];
    kind.kind = operation.kind;
    kind.lane = operation.lane;
    ++kind.operations;
    Add(kind.seconds, compared(id));
  }
  TimelineComparison comparison;
  for (auto& [name, lane] : lanes) comparison.lanes.push_back(lane);
  for (auto& [name, kind] : kinds) comparison.kinds.push_back(kind);
  std::stable_sort(comparison.kinds.begin(), comparison.kinds.end(),
                   [](const KindComparison& a, const KindComparison& b) {
                     return MissesMore(a.seconds, b.seconds);
                   });
  std::stable_sort(order.begin(), order.end(), [&](OperationId a, OperationId b) {
    return MissesMore(compared(a), compared(b));
  });
  order.resize(std::min(order.size(), most));
  for (const OperationId id : order) {
    const Operation& operation = operations[static_cast<size_t>(id)];
    comparison.misses.push_back({.operation = id,
                                 .name = schedule.NameOf(operation),
                                 .lane = operation.lane,
                                 .seconds = compared(id)});
  }
  return comparison;
}

void MeanDurations::Add(StepDurations durations) {
  CHECK(steps_.empty() || steps_.front().size() == durations.size());
  if (steps_.size() < most_) {
    steps_.push_back(std::move(durations));
    return;
  }
  steps_[next_] = std::move(durations);
  next_ = (next_ + 1) % most_;
}

StepDurations MeanDurations::Mean() const {
  CHECK(!steps_.empty());
  std::vector<double> totals;
  for (const StepDurations& step : steps_) {
    totals.push_back(static_cast<double>(std::accumulate(step.begin(), step.end(), int64_t{0})));
  }
  const double most = kOutlier * Median(totals);
  StepDurations mean(steps_.front().size());
  int64_t counted = 0;
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (totals[s] > most) continue;
    ++counted;
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += steps_[s][i];
  }
  for (int64_t& nanoseconds : mean) nanoseconds = (nanoseconds + counted / 2) / counted;
  return mean;
}

}  // namespace horizon
