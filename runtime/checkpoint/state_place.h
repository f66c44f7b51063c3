#pragma once

#include <cstdint>

#include "runtime/checkpoint/state_part.h"
#include "schedule/chunk_tensors.h"
#include "schedule/training_job.h"

namespace horizon {

// The offset, in bytes of this part, of a slice's state within the state of its whole tensor. A
// slice of a table begins at a moment block, so that 8-bit moments and their scales can be divided
// there (chunk_tensors.h).
uint64_t OffsetInTensor(const TensorSlice& slice, StatePart part, StateFormat format);

}  // namespace horizon
