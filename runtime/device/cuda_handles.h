#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace horizon {

// Owners of what the CUDA runtime hands out. What destroying says is not heard: there is nothing
// left to do about it, and after the loss of a device every call says the same.
struct DestroyStream {
  using pointer = cudaStream_t;
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using UniqueStream = std::unique_ptr<CUstream_st, DestroyStream>;

struct DestroyEvent {
  using pointer = cudaEvent_t;
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using UniqueEvent = std::unique_ptr<CUevent_st, DestroyEvent>;

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
using UniqueDeviceBytes = std::unique_ptr<void, FreeDevice>;

// Page-locked memory of the host, allocated by CUDA.
struct FreeLocked {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using UniqueLockedBytes = std::unique_ptr<void, FreeLocked>;

// Each makes one in place of what the owner had; empty when the call fails.
inline cudaError_t Make(UniqueStream& stream) {
  cudaStream_t made = nullptr;
  const cudaError_t error = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  stream.reset(error == cudaSuccess ? made : nullptr);
  return error;
}
// `flags`: cudaEventBlockingSync, cudaEventDisableTiming, or none.
inline cudaError_t Make(UniqueEvent& event, unsigned flags) {
  cudaEvent_t made = nullptr;
  const cudaError_t error = cudaEventCreateWithFlags(&made, flags);
  event.reset(error == cudaSuccess ? made : nullptr);
  return error;
}
inline cudaError_t Make(UniqueDeviceBytes& memory, size_t bytes) {
  void* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, bytes);
  memory.reset(error == cudaSuccess ? made : nullptr);
  return error;
}
inline cudaError_t Make(UniqueLockedBytes& memory, size_t bytes) {
  void* made = nullptr;
  const cudaError_t error = cudaHostAlloc(&made, bytes, cudaHostAllocPortable);
  memory.reset(error == cudaSuccess ? made : nullptr);
  return error;
}

}  // namespace horizon
