// The only way a kernel is launched, and the only shared memory it has. Device code is compiled
// twice: by nvcc, and as plain C++ against tests/fake_cuda, where the same two names run it on the
// CPU and check what a GPU does not (races, barriers, reads of what nobody wrote).
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "common/cuda_result.cuh"

#ifndef __CUDACC__
#include <fake_cuda_launch.h>
#include <fake_cuda_shared.h>
#endif

namespace horizon {

// Blocks and threads of a launch, none of them zero: LaunchShape{blocks, 256}.
struct LaunchShape {
  dim3 grid;
  dim3 block;
#ifndef __CUDACC__
  fake_cuda::CodePlace where = fake_cuda::CodePlace::Current();  // the launcher, for messages
#endif
};

#ifdef __CUDACC__

// Static shared memory, declared as `__shared__ Shared<float, 256> tile;` and used by index alone:
// `tile[i] = x; const float y = tile[i];`. Cells hold nothing until the block has written them.
template <typename T, int N>
struct Shared {
  T values[N];
  __device__ T& operator[](int index) { return values[index]; }
};

// Puts kernel(args...) on the stream and returns what the launch said, without waiting. Arguments
// are converted to the kernel's parameters and copied. Errors of the kernel itself come later, from
// a call that waits.
template <typename... Parameters, typename... Arguments>
CudaResult Launch(void (*kernel)(Parameters...), const LaunchShape& shape, CUstream_st* stream,
                  Arguments&&... arguments) {
  kernel<<<shape.grid, shape.block, 0, stream>>>(std::forward<Arguments>(arguments)...);
  return ToResult(cudaGetLastError());
}

#else

template <typename T, int N>
using Shared = fake_cuda::Shared<T, N>;

template <typename... Parameters, typename... Arguments>
CudaResult Launch(void (*kernel)(Parameters...), const LaunchShape& shape, CUstream_st* stream,
                  Arguments&&... arguments) {
  fake_cuda::Launch(kernel, shape.grid, shape.block, stream, shape.where,
                    std::forward<Arguments>(arguments)...);
  return ToResult(cudaGetLastError());
}

#endif

}  // namespace horizon
