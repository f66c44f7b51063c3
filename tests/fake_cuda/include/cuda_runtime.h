// What nvcc's own header gives device code, for a C++ compiler: qualifiers that say nothing, the
// index of the thread, barriers, shuffles, atomics and arithmetic.
#pragma once

#include <cmath>
#include <cstring>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
// A kernel's static shared memory: blocks run one after the other, so one copy is enough. Lint asks
// that it is a Shared<T, N>, which knows when a block begins.
#define __shared__ static
#define __constant__ static

#include "fake_cuda_intrinsics.h"
#include "fake_cuda_threads.h"
