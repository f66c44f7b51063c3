#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of split_master_cuda.cu on the stream and return the result of
// the launch, without waiting. Pointers are to device memory; they may be null if count is 0,
// except first_refused.
CudaResult LaunchSplitMaster(const float* master, uint16_t* hi, int16_t* lo,
                             uint64_t* first_refused, size_t count, CUstream_st* stream);
CudaResult LaunchJoinMaster(const uint16_t* hi, const int16_t* lo, float* master,
                            uint64_t* first_refused, size_t count, CUstream_st* stream);

}  // namespace horizon
