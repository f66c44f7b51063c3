#include "kernels/cuda/cuda_eight.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/rotary/rotary_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 128;

// A block has a token, a thread eight pairs of a head. A backward sine is negated, which is exact:
// both directions round alike.
__global__ void __launch_bounds__(kThreads) TurnTokens(RotaryHeads args, bool whole) {
  const int eights = static_cast<int>((args.half + 7) / 8);
  const int items = static_cast<int>(args.heads) * eights;
  for (int64_t token = blockIdx.x; token < args.tokens; token += gridDim.x) {
    const float* cosines = args.table + int64_t{args.records[token].position} * 2 * args.half;
    uint16_t* heads = args.x + token * args.heads * args.head_dim;
    for (int item = static_cast<int>(threadIdx.x); item < items; item += kThreads) {
      const int first = item % eights * 8;
      const int64_t count = args.half - first;
      uint16_t* head = heads + item / eights * args.head_dim + first;
      const Eight<float> cosine = LoadEight(cosines + first, count, whole);
      const Eight<float> sine = LoadEight(cosines + args.half + first, count, whole);
      Eight<float> one = LoadNumbers(head, count, whole);
      Eight<float> other = LoadNumbers(head + args.half, count, whole);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float turned = sine[j] * args.sign;
        const float before = one[j];
        one[j] = __fsub_rn(__fmul_rn(before, cosine[j]), __fmul_rn(other[j], turned));
        other[j] = __fadd_rn(__fmul_rn(other[j], cosine[j]), __fmul_rn(before, turned));
      }
      StoreNumbers(head, one, count, whole);
      StoreNumbers(head + args.half, other, count, whole);
    }
  }
}

}  // namespace

CudaResult LaunchRotary(const RotaryHeads& heads, CUstream_st* stream) {
  const bool whole = heads.half % 8 == 0 && heads.head_dim % 8 == 0 &&
                     IsEightAligned(heads.table) && IsEightAligned(heads.x);
  return Launch(TurnTokens, LaunchShape{BlocksFor(heads.tokens, 1), kThreads}, stream, heads,
                whole);
}

}  // namespace horizon
