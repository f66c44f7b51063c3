#pragma once

#include <cstdint>

#include "common/units.h"
#include "model/model_spec.h"
#include "model/stage_work.h"
#include "schedule/chunk_table.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The scratch memory that CUDA kernels need beside their arguments. Nothing in it survives a
// kernel. It is the workspace of GEMMs, followed by the largest scratch of any other kernel:
// attention (a tile of scores of all heads; the gradients of a sequence's keys and values),
// attention to a cache, the loss (the input gradient of a loss chunk in fp32), rounded sums of
// gradients, column sums, and sorting token-expert pairs. It grows linearly with the sequence
// length.
//
// Kernels check the scratch they get with functions of their own (kernels/*/*.h:
// ...WorkspaceBytes); a test checks that both agree.
Bytes CudaScratchBytes(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                       const ChunkTable& chunks, TokenBatch batch);

}  // namespace horizon
