#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "model/tensor_spec.h"

namespace horizon {

// A source of a model's weights: writes the values of `tensor` from element `first` on to `into`.
// Called by one thread at a time.
using ParameterSource =
    std::function<absl::Status(const TensorSpec& tensor, uint64_t first, std::span<float> into)>;

}  // namespace horizon
