#include "tests/simulator/hand_schedule.h"

namespace horizon {
namespace {

void Add(const std::vector<HandOperation>& operations, Phase& phase,
         std::vector<OperationCost>& costs) {
  for (const HandOperation& made : operations) {
    Operation operation{.kind = made.kind, .lane = made.lane, .bytes = 8_B};
    operation.waits.begin = static_cast<uint32_t>(phase.wait_pool.size());
    phase.wait_pool.insert(phase.wait_pool.end(), made.waits.begin(), made.waits.end());
    operation.waits.end = static_cast<uint32_t>(phase.wait_pool.size());
    phase.operations.push_back(operation);
    costs.push_back({.nanoseconds = made.nanoseconds, .draw = made.draw});
  }
}

}  // namespace

HandMade OneStep(const std::vector<HandOperation>& first) { return Repeating(first, {}); }

HandMade Repeating(const std::vector<HandOperation>& first,
                   const std::vector<HandOperation>& steady) {
  HandMade made;
  made.costs.capacity = {8, 10, 10};
  Add(first, made.schedule.first, made.costs.first);
  Add(steady, made.schedule.steady, made.costs.steady);
  return made;
}

}  // namespace horizon
