#include "schedule/build/after_step_pass.h"
#include "schedule/build/compute_order.h"
#include "schedule/build/strategies.h"

namespace horizon {
namespace {

// The staging buffers take turns; nothing is looked for in them but the layer just forwarded again,
// whose backward comes next.
std::vector<RingUse> TakeTurns(const std::vector<ComputeItem>& layers, size_t slots) {
  std::vector<RingUse> uses;
  size_t loads = 0;
  for (const ComputeItem& item : layers) {
    if (item.kind == OperationKind::kBackward) {
      uses.push_back({.slot = uses.back().slot, .loads = false});
    } else {
      uses.push_back({.slot = static_cast<int32_t>(loads++ % slots), .loads = true});
    }
  }
  return uses;
}

}  // namespace

void BuildReference(const ModelSpec& spec, const BufferMap& map, Schedule& schedule) {
  const std::vector<ComputeItem> items =
      schedule.kind == PassKind::kTrain
          ? ReferenceOrder(schedule.chunks, schedule.job, schedule.plan)
          : ForwardOrder(schedule.chunks, schedule.job, schedule.plan, schedule.kind);
  BuildAfterStepPass(spec, map, items,
                     TakeTurns(LayerUses(items, schedule.chunks), map.ring.size()), schedule);
}

}  // namespace horizon
