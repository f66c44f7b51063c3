#pragma once

#include "common/cuda_result.h"
#include "kernels/optimizer/adam_update.h"

struct CUstream_st;

namespace horizon {

// Launches the AdamW update of adam_cuda.cu on the stream and returns the result of the launch,
// without waiting. All pointers are to device memory; first_refused is set; count may be 0.
CudaResult LaunchAdamUpdate(const AdamUpdate& update, CUstream_st* stream);

}  // namespace horizon
