#pragma once

#include <vector>

#include "model/model_spec.h"
#include "schedule/build/compute_order.h"
#include "schedule/build/ring_assignment.h"
#include "schedule/lay_out_memory.h"
#include "schedule/schedule.h"

namespace horizon {

// Builds a pass the way the systems do that horizon is compared with: embedding and head stay on
// the device and are loaded once a step, layers are streamed, and clipping and Adam follow after
// the step. These systems differ only in the order of compute and in the ring slot of each layer,
// which are arguments.

// The items that use a streamed layer, in order. BuildAfterStepPass needs a RingUse for each.
std::vector<ComputeItem> LayerUses(const std::vector<ComputeItem>& items, const ChunkTable& chunks);

// Fills `initial`, `first` and `steady` of `schedule`. `uses` has one element for each item of
// LayerUses(items, chunks) (CHECK). Where the layout has staging buffers (one for each ring slot),
// a layer is packed into one before it is loaded.
void BuildAfterStepPass(const ModelSpec& spec, const BufferMap& map,
                        const std::vector<ComputeItem>& items, const std::vector<RingUse>& uses,
                        Schedule& schedule);

}  // namespace horizon
