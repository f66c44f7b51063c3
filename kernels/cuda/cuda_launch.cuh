// Launch and Shared: all device code of this project is launched with Launch, and has no shared
// memory but Shared and the dynamic shared memory that shared_tile.cuh reads and writes.
//   __global__ void Reverse(const float* from, float* to) {
//     __shared__ Shared<float, 256> tile;
//     tile[threadIdx.x] = from[threadIdx.x];
//     __syncthreads();
//     to[threadIdx.x] = tile[255 - threadIdx.x];
//   }
//   return Launch(Reverse, LaunchShape{1, 256}, stream, from, to);
// Device code is compiled twice: by nvcc, and as plain C++ against tests/fake_cuda. There the same
// two names run it on the CPU and check what a GPU does not check (races, barriers, reads of memory
// that nothing has written).
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "common/cuda_result.cuh"

#ifndef __CUDACC__
#include <fake_cuda_launch.h>
#include <fake_cuda_shared.h>
#endif

namespace horizon {

// Thread blocks of a launch and threads of a block, e.g. LaunchShape{blocks, 256}. No dimension is
// 0. The third member is the dynamic shared memory of a thread block in bytes.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  unsigned dynamic_shared_bytes = 0;
#ifndef __CUDACC__
  fake_cuda::CodePlace where = fake_cuda::CodePlace::Current();  // the launcher, for messages
#endif
};

#ifdef __CUDACC__

// Static shared memory of a thread block: N elements, declared with __shared__ and used by index
// alone. Elements hold nothing of use until the thread block has written them.
template <typename T, int N>
struct Shared {
  T values[N];
  __device__ T& operator[](int index) { return values[index]; }
};

// The dynamic shared memory of the running thread block, aligned to 16 bytes.
__device__ __forceinline__ unsigned char* DynamicSharedMemory() {
  extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];
  return dynamic_shared_memory;
}

#else

template <typename T, int N>
using Shared = fake_cuda::Shared<T, N>;

#endif

// Launches kernel(arguments...) on the stream and returns the result of the launch, without
// waiting. Arguments are converted to the kernel's parameters and copied. Errors of the kernel
// itself come later, from a call that waits.
//
// A kernel gets more than 48 KiB of shared memory, static and dynamic, only after an opt-in. Launch
// sees to that, at each launch with dynamic shared memory, since it counts for the current device
// alone. All launches of a kernel must have the same bytes: another thread's opt-in may come
// between. More than the device has is cudaErrorInvalidValue.
template <typename... Parameters, typename... Arguments>
CudaResult Launch(void (*kernel)(Parameters...), const LaunchShape& shape, CUstream_st* stream,
                  Arguments&&... arguments) {
  if (shape.dynamic_shared_bytes > 0 &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(shape.dynamic_shared_bytes)) != cudaSuccess) {
    return ToResult(cudaGetLastError());
  }
#ifdef __CUDACC__
  kernel<<<shape.grid, shape.block, shape.dynamic_shared_bytes, stream>>>(
      std::forward<Arguments>(arguments)...);
#else
  fake_cuda::Launch(kernel, shape.grid, shape.block, shape.dynamic_shared_bytes, stream,
                    shape.where, std::forward<Arguments>(arguments)...);
#endif
  return ToResult(cudaGetLastError());
}

}  // namespace horizon
