#pragma once

#include "common/cuda_result.h"
#include "kernels/optimizer/adam_update.h"

struct CUstream_st;

namespace horizon {

// The launcher of adam_cuda.cu: all pointers to device memory, first_refused set; count may be 0.
// It puts the work on the stream and returns what the launch said.
CudaResult LaunchAdamUpdate(const AdamUpdate& update, CUstream_st* stream);

}  // namespace horizon
