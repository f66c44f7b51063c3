#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "kernels/cuda_result.h"

namespace horizon {

// Unavailable where there is no device, ResourceExhausted when device memory is out, else Internal.
// `what` reads after "cannot ".
absl::Status ToStatus(const CudaResult& result, std::string_view what);

}  // namespace horizon
