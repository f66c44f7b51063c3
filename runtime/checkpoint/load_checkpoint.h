#pragma once

#include "absl/status/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/parameters/parameter_store.h"

namespace horizon {

// Fills the store with the state a checkpoint holds, whatever plan it was saved under; its job's
// state format must be the store's (resume_check.h). No second copy is made: until this is OK the
// store may hold anything. DataLoss for a payload that is damaged, a master that is not finite, a
// tensor that is missing or unknown.
absl::Status LoadCheckpoint(const Checkpoint& checkpoint, ParameterStore& store);

}  // namespace horizon
