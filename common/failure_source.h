#pragma once

#include "absl/status/status.h"

namespace horizon {

// Where a failure came from, for failures whose status code alone does not tell. A Status carries
// it as a payload, and every layer that passes the Status up keeps it; app/exit_code.h reads it.
// File errors carry an errno instead (IoErrno in common/files/io.h).
enum class FailureSource {
  kOther,
  kDevice,    // an accelerator or its driver
  kNumerics,  // a NaN or infinity in loss, gradient or weights
};

// Returns `status` with its source attached. OK stays OK, and kOther removes the source.
absl::Status WithFailureSource(absl::Status status, FailureSource source);
// The source that a status carries; kOther if it carries none.
FailureSource FailureSourceOf(const absl::Status& status);

}  // namespace horizon
