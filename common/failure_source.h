#pragma once

#include "absl/status/status.h"

namespace horizon {

// Where a failure came from, when its code alone does not say: carried by the Status as a payload
// and kept by every layer that passes it up. File errors have their own mark (IoErrno in io.h).
enum class FailureSource {
  kOther,
  kDevice,    // an accelerator or its driver
  kNumerics,  // a NaN or infinity in loss, gradient or weights
};

// `status` marked with its source; OK stays OK and kOther removes a mark.
absl::Status WithFailureSource(absl::Status status, FailureSource source);
FailureSource FailureSourceOf(const absl::Status& status);

}  // namespace horizon
