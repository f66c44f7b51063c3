#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/device.h"

namespace horizon {

// The DoubleWords (selftest/conformance/pipeline.h) of a CUDA device. `words` must not be zero. In
// a build without CUDA the kernel returns Unavailable.
KernelCall DoubleWordsOnCuda(std::byte* target, const std::byte* source, uint64_t words);

}  // namespace horizon
