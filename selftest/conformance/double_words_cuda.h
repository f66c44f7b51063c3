#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/device.h"

namespace horizon {

// DoubleWords (selftest/conformance/chain.h) for a CUDA device; `words` is not zero. Where the
// build has no CUDA the kernel answers Unavailable.
KernelCall DoubleWordsOnCuda(std::byte* target, const std::byte* source, uint64_t words);

}  // namespace horizon
