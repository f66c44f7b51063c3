#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/rotary/rotary_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 128;

// A thread block handles one token, and a thread kElementsPerThread pairs of a head at a time. The
// sine is negated for backward, which is exact, so both directions round alike.
__global__ void __launch_bounds__(kThreads)
    ApplyRotaryToTokens(ApplyRotaryLaunch args, bool whole) {
  const int groups = static_cast<int>((args.half + kElementsPerThread - 1) / kElementsPerThread);
  const int items = static_cast<int>(args.heads) * groups;
  for (int64_t token = blockIdx.x; token < args.tokens; token += gridDim.x) {
    const float* cosines = args.table + int64_t{args.records[token].position} * 2 * args.half;
    uint16_t* heads = args.x + token * args.heads * args.head_dim;
    for (int item = static_cast<int>(threadIdx.x); item < items; item += kThreads) {
      const int first = item % groups * kElementsPerThread;
      const int64_t count = args.half - first;
      uint16_t* head = heads + item / groups * args.head_dim + first;
      const ThreadElements<float> cosine = LoadElements(cosines + first, count, whole);
      const ThreadElements<float> sine = LoadElements(cosines + args.half + first, count, whole);
      ThreadElements<float> one = LoadAsFloat(head, count, whole);
      ThreadElements<float> other = LoadAsFloat(head + args.half, count, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) {
        const float signed_sine = sine[j] * args.sign;
        const float before = one[j];
        one[j] = __fsub_rn(__fmul_rn(before, cosine[j]), __fmul_rn(other[j], signed_sine));
        other[j] = __fadd_rn(__fmul_rn(other[j], cosine[j]), __fmul_rn(before, signed_sine));
      }
      StoreFromFloat(head, one, count, whole);
      StoreFromFloat(head + args.half, other, count, whole);
    }
  }
}

}  // namespace

CudaResult LaunchApplyRotary(const ApplyRotaryLaunch& heads, CUstream_st* stream) {
  const bool whole = heads.half % kElementsPerThread == 0 &&
                     heads.head_dim % kElementsPerThread == 0 && IsAlignedForVectors(heads.table) &&
                     IsAlignedForVectors(heads.x);
  return Launch(ApplyRotaryToTokens, LaunchShape{ThreadBlocksFor(heads.tokens, 1), kThreads},
                stream, heads, whole);
}

}  // namespace horizon
