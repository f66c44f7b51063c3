#include <cuda_runtime.h>

#include "tests/kernels/support/device_arrays.h"

namespace horizon {

int CudaDeviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

CUstream_st* CreateStream() {
  cudaStream_t stream = nullptr;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream
                                                                                  : nullptr;
}

void DestroyStream(CUstream_st* stream) { cudaStreamDestroy(stream); }

void* UploadArray(const void* from, size_t bytes) {
  void* array = nullptr;
  if (cudaMalloc(&array, bytes == 0 ? 1 : bytes) != cudaSuccess) return nullptr;
  if (from == nullptr) return array;
  if (cudaMemcpy(array, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess) return array;
  cudaFree(array);
  return nullptr;
}

bool DownloadArray(void* into, const void* from, size_t bytes, CUstream_st* stream) {
  return cudaStreamSynchronize(stream) == cudaSuccess &&
         cudaMemcpy(into, from, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
}

void FreeArray(void* array) { cudaFree(array); }

}  // namespace horizon
