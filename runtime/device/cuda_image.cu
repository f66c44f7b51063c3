#include <cuda_runtime.h>

#include "common/cuda_result.cuh"
#include "runtime/device/cuda_image.h"

#define HORIZON_TEXT_INNER(...) #__VA_ARGS__
#define HORIZON_TEXT(...) HORIZON_TEXT_INNER(__VA_ARGS__)
#ifndef __CUDA_ARCH_LIST__
#define __CUDA_ARCH_LIST__ none
#endif

namespace horizon {
namespace {

__global__ void DoNothing() {}

}  // namespace

CudaResult FindKernelImage() {
  cudaFuncAttributes attributes{};
  return ToResult(cudaFuncGetAttributes(&attributes, DoNothing));
}

const char* BuiltArchitectures() { return HORIZON_TEXT(__CUDA_ARCH_LIST__); }

}  // namespace horizon
