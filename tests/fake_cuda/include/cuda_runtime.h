// Lets a C++ compiler compile device code: it defines what nvcc's header of this name provides,
// that is qualifiers (empty here), thread indices, barriers, shuffles, atomics and arithmetic.
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
// A kernel's static shared memory. Thread blocks run one after the other, so one copy is enough.
// Lint requires that it is a Shared<T, N>, which detects when a thread block begins.
#define __shared__ static
#define __constant__ static

#include "fake_cuda_dynamic_shared.h"
#include "fake_cuda_intrinsics.h"
#include "fake_cuda_threads.h"
