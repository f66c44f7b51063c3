#pragma once

#include "absl/status/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/parameters/parameter_store.h"

namespace horizon {

// Fills the store with the state of a checkpoint, whatever plan it was saved under. The state
// format of its job must be the store's (resume_check.h). No second copy is made: until this has
// returned OK, the contents of the store are undefined. DataLoss for a damaged payload, a master
// that is not finite, or a tensor that is missing or unknown.
absl::Status LoadCheckpoint(const Checkpoint& checkpoint, ParameterStore& store);

}  // namespace horizon
