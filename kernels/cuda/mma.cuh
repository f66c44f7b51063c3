// Tensor cores and asynchronous copies in device code, each instruction a small function. On a GPU
// they are PTX instructions, in the tests calls of tests/fake_cuda.
//   FragmentC sums = {};
//   MultiplyAdd(sums, a, b);  // sums += A B: 16 x 16 times 16 x 8
// A warp multiplies together, and each of its 32 threads holds a fragment of every matrix:
//   A  (16 x 16 bf16): rows r and r + 8, columns c, c + 1, c + 8 and c + 9,
//   B  (16 x 8 bf16):  rows c, c + 1, c + 8 and c + 9, column r,
//   C  (16 x 8 fp32):  rows r and r + 8, columns c and c + 1,
// where r is the warp lane divided by four and c twice the remainder. So two C side by side,
// rounded, are an A (FragmentAOf): the result of one multiply can enter the next without leaving
// registers. Source: PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16 with floating point type",
// "ldmatrix", "cp.async", "cvt".
//
// MultiplyAdd and asynchronous copies need compute capability 8.0. Code for older devices, which
// must compile, stops there; launchers do not let it get that far (CheckTensorCoresForBf16).
//
// A place in dynamic shared memory is its number of bytes from the begin.
#pragma once

#include <cstdint>

#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"

namespace horizon {

// Pairs of bf16, the one with the lower column (of B: row) in the lower half.
// Of A: row r left, row r + 8 left, row r right, row r + 8 right.
struct FragmentA {
  uint32_t pairs[4];
};
// Of B: rows c and c + 1, rows c + 8 and c + 9.
struct FragmentB {
  uint32_t pairs[2];
};
// Two of row r, two of row r + 8.
struct FragmentC {
  float values[4];
};
// Four matrices of 8 x 8 bf16. The fragment of one is two neighbours of a row: row r, columns c and
// c + 1.
struct FourFragments {
  uint32_t pairs[4];
};

// The r and c of the running thread, in thread blocks of one dimension.
__device__ __forceinline__ int FragmentRow() { return static_cast<int>(threadIdx.x % 32 / 4); }
__device__ __forceinline__ int FragmentColumn() { return static_cast<int>(threadIdx.x % 4 * 2); }

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define HORIZON_PTX_OF_SM_80 1
#else
#define HORIZON_PTX_OF_SM_80 0
#endif

#ifdef __CUDACC__
// The address that PTX instructions take.
__device__ __forceinline__ uint32_t SharedAddress(uint32_t place) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(DynamicSharedMemory())) + place;
}
#endif

// Adds A B to the sums. Called by all threads of a warp together, as are the loads below.
__device__ __forceinline__ void MultiplyAdd(FragmentC& sums, const FragmentA& a,
                                            const FragmentB& b) {
#ifndef __CUDACC__
  fake_cuda::MultiplyAdd(sums.values, a.pairs, b.pairs);
#elif HORIZON_PTX_OF_SM_80
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums.values[0]), "+f"(sums.values[1]), "+f"(sums.values[2]), "+f"(sums.values[3])
      : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "r"(b.pairs[0]),
        "r"(b.pairs[1]));
#else
  __trap();
#endif
}

// Loads four matrices of 8 x 8 bf16 from shared memory, or with LoadTransposed their transposes.
// Thread i passes the place of row i % 8 of matrix i / 8, a multiple of 16 bytes.
__device__ __forceinline__ FourFragments LoadMatrices(uint32_t row) {
  FourFragments four;
#ifndef __CUDACC__
  fake_cuda::LoadMatrices(row, false, four.pairs);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(four.pairs[0]), "=r"(four.pairs[1]), "=r"(four.pairs[2]), "=r"(four.pairs[3])
               : "r"(SharedAddress(row))
               : "memory");
#endif
  return four;
}
__device__ __forceinline__ FourFragments LoadTransposed(uint32_t row) {
  FourFragments four;
#ifndef __CUDACC__
  fake_cuda::LoadMatrices(row, true, four.pairs);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(four.pairs[0]), "=r"(four.pairs[1]), "=r"(four.pairs[2]), "=r"(four.pairs[3])
               : "r"(SharedAddress(row))
               : "memory");
#endif
  return four;
}

// Begins to copy 16 bytes from device to shared memory: the first `bytes` of them, 0 to 16, come
// from `from`, the rest becomes zero. Both places are multiples of 16 bytes. The bytes are there
// for this thread when it has waited (WaitForCopies), and for the others after a barrier behind
// that.
__device__ __forceinline__ void CopyAsync(uint32_t to, const void* from, int bytes) {
#ifndef __CUDACC__
  fake_cuda::CopyAsync(to, from, static_cast<unsigned>(bytes));
#elif HORIZON_PTX_OF_SM_80
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(SharedAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
#else
  __trap();
#endif
}

// Makes a group of the copies that this thread has begun since the last group; it may be empty.
__device__ __forceinline__ void CommitCopies() {
#ifndef __CUDACC__
  fake_cuda::CommitCopies();
#elif HORIZON_PTX_OF_SM_80
  asm volatile("cp.async.commit_group;" : : : "memory");
#else
  __trap();
#endif
}

// Waits until all groups of this thread but the last kPending are done.
template <int kPending>
__device__ __forceinline__ void WaitForCopies() {
#ifndef __CUDACC__
  fake_cuda::WaitForCopies(kPending);
#elif HORIZON_PTX_OF_SM_80
  asm volatile("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
#else
  __trap();
#endif
}

// Two numbers as bf16, each the nearest, ties to even. NaN becomes 0x7FFF, unlike in Bf16Of.
__device__ __forceinline__ uint32_t PackBf16(float low, float high) {
#ifndef __CUDACC__
  return fake_cuda::RoundToBf16Pair(low, high);
#elif HORIZON_PTX_OF_SM_80
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return uint32_t{Bf16Of(high)} << 16 | Bf16Of(low);
#endif
}

// The 16 x 16 matrix of two results side by side, rounded to bf16.
__device__ __forceinline__ FragmentA FragmentAOf(const FragmentC& left, const FragmentC& right) {
  return {{PackBf16(left.values[0], left.values[1]), PackBf16(left.values[2], left.values[3]),
           PackBf16(right.values[0], right.values[1]), PackBf16(right.values[2], right.values[3])}};
}

// Success if the current device has what MultiplyAdd and CopyAsync need, or why not. Launchers ask
// it: their kernels compile for sm_75 all the same, where they stop at once.
inline CudaResult CheckTensorCoresForBf16() {
  int device = 0;
  int major = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
    return ToResult(cudaGetLastError());
  }
  if (major >= 8) return {};
  return {static_cast<int>(cudaErrorNotSupported),
          "the tensor cores of a device below compute capability 8.0 do not multiply bf16"};
}

}  // namespace horizon
