#include <set>

#include "schedule/build/after_step_pass.h"
#include "schedule/build/compute_order.h"
#include "schedule/build/strategies.h"

namespace horizon {
namespace {

// Forward and backward know nothing of each other: a layer that is still on the device at a turn is
// released all the same, and loaded again.
std::vector<RingUse> ReloadAtTurns(const std::vector<ComputeItem>& layers, int32_t slots) {
  std::vector<int32_t> chunks;
  chunks.reserve(layers.size());
  for (const ComputeItem& item : layers) chunks.push_back(item.chunk);
  std::vector<RingUse> uses = AssignRing(chunks, slots);
  std::set<int32_t> loaded;  // since the last turn
  bool forward = true;
  for (size_t i = 0; i < layers.size(); ++i) {
    if ((layers[i].kind == OperationKind::kForward) != forward) {
      forward = !forward;
      loaded.clear();
    }
    if (loaded.insert(layers[i].chunk).second) uses[i].loads = true;
  }
  return uses;
}

}  // namespace

void BuildOffloadBaseline(const ModelSpec& spec, const BufferMap& map, Schedule& schedule) {
  const std::vector<ComputeItem> items =
      schedule.kind == PassKind::kTrain
          ? TrainOrder(schedule.chunks, schedule.job, schedule.plan)
          : ForwardOrder(schedule.chunks, schedule.job, schedule.plan, schedule.kind);
  const std::vector<RingUse> uses =
      ReloadAtTurns(LayerUses(items, schedule.chunks), static_cast<int32_t>(map.ring.size()));
  BuildAfterStepPass(spec, map, items, uses, schedule);
}

}  // namespace horizon
