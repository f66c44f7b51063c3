#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace horizon {

// Owners (std::unique_ptr) of CUDA streams, events and memory. The deleters ignore the result of
// the CUDA call: nothing can be done about a failure there, and once a device is lost every call
// returns the same error.
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

// Page-locked host memory, allocated by CUDA.
struct FreeLocked {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using UniqueLockedBytes = std::unique_ptr<void, FreeLocked>;

// Each Make creates one object and puts it into the owner in place of what it held. When the CUDA
// call fails, the owner is left empty and the error is returned.
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
