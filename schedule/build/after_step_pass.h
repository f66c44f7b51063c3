#pragma once

#include <vector>

#include "model/model_spec.h"
#include "schedule/build/compute_order.h"
#include "schedule/build/ring_assignment.h"
#include "schedule/lay_out_memory.h"
#include "schedule/schedule.h"

namespace horizon {

// A pass as the systems do it that ours is compared with: embedding and head stay on the device and
// cross once a step, layers stream, and clip and Adam come after the step. What tells these systems
// apart is data: the order of compute, and where each layer is found.

// The uses of layers in `items`, in order: what `uses` of BuildAfterStepPass is about.
std::vector<ComputeItem> LayerUses(const std::vector<ComputeItem>& items, const ChunkTable& chunks);

// Fills `initial` and the phases of `schedule`. `uses` has one element for each of
// LayerUses(items); a layer is packed before it is loaded where the layout has staging buffers (as
// many as slots).
void BuildAfterStepPass(const ModelSpec& spec, const BufferMap& map,
                        const std::vector<ComputeItem>& items, const std::vector<RingUse>& uses,
                        Schedule& schedule);

}  // namespace horizon
