#pragma once

#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// target[i] = 2 * source[i] for `words` of them, not zero, in device memory; they may be the same
// array.
CudaResult LaunchDoubleWords(uint32_t* target, const uint32_t* source, uint64_t words,
                             CUstream_st* stream);

}  // namespace horizon
