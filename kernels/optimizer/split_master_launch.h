#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda_result.h"

struct CUstream_st;

namespace horizon {

// The launchers of split_master_cuda.cu: pointers to device memory, which may be null where count
// is 0 (first_refused never). They put the work on the stream and return what the launch said.
CudaResult LaunchSplitMaster(const float* master, uint16_t* hi, int16_t* lo,
                             uint64_t* first_refused, size_t count, CUstream_st* stream);
CudaResult LaunchJoinMaster(const uint16_t* hi, const int16_t* lo, float* master,
                            uint64_t* first_refused, size_t count, CUstream_st* stream);

}  // namespace horizon
