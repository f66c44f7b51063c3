#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// Launches a kernel on `stream` that doubles 32-bit words of device memory: target[i] = 2 *
// source[i] for i < words. `words` must not be zero. Both may be the same array.
CudaResult LaunchDoubleWords(uint32_t* target, const uint32_t* source, uint64_t words,
                             CUstream_st* stream);

}  // namespace horizon
