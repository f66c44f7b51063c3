#pragma once

#include <cuda_runtime_api.h>

#include "common/cuda_result.h"

namespace horizon {

// Converts the error code of a CUDA runtime call, for launchers in .cu files.
inline CudaResult ToResult(cudaError_t error) {
  return {static_cast<int>(error), cudaGetErrorString(error),
          error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ||
              error == cudaErrorStubLibrary};
}

}  // namespace horizon
