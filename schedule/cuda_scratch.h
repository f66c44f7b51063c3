#pragma once

#include <cstdint>

#include "common/units.h"
#include "model/model_spec.h"
#include "model/stage_work.h"
#include "schedule/chunk_table.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Device memory that the kernels of a CUDA device work in beside their arguments, dead when one has
// ended: what matrix products may use, and behind it the largest of what attention (a tile of
// scores of all heads; the gradients of a sequence's keys and values), the loss (a chunk's input
// gradient in fp32), rounded sums of gradients and sums of columns take. Linear in the sequence.
//
// Kernels check what they get against functions of their own (kernels/*/*.h: ...WorkspaceBytes); a
// test holds both together.
Bytes CudaScratchBytes(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                       const ChunkTable& chunks, TokenBatch batch);

}  // namespace horizon
