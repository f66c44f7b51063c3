#pragma once

#include <cstdint>

#include "runtime/checkpoint/state_part.h"
#include "schedule/chunk_tensors.h"
#include "schedule/training_job.h"

namespace horizon {

// Where the state of a slice begins within the state of its whole tensor, in bytes of this part. A
// slice of a table begins at a block of 8-bit moments (chunk_tensors.h).
uint64_t OffsetInTensor(const TensorSlice& slice, StatePart part, StateFormat format);

}  // namespace horizon
