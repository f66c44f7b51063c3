#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/gemm/gemm_launch.h"

namespace horizon {
namespace {

constexpr unsigned kThreads = 256;
// A thread's elements: 16 bytes of bf16.
constexpr int kElements = 8;

template <typename T>
__global__ void StoreInitialPlusBias(InitialPlusBias args) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= args.m * args.n) return;
  const int64_t column = i % args.n;
  const int64_t at = i / args.n * args.stride + column;
  float value = 0.0f;
  if (args.initial != nullptr) value = FloatOf(static_cast<const T*>(args.initial)[at]);
  if (args.bias != nullptr) value += FloatOf(static_cast<const T*>(args.bias)[column]);
  static_cast<T*>(args.c)[at] = FromFloat<T>(value);
}

__global__ void SumRoundedGradient(RoundedGradient args) {
  const int64_t begin = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kElements;
  if (begin + kElements > args.count) {
    for (int64_t i = begin; i < args.count; ++i) {
      args.sum[i] = (args.add ? args.sum[i] : 0.0f) + FloatOf(args.gradient[i]);
    }
    return;
  }
  const Vector<uint16_t, kElements> gradient = LoadVector<kElements>(args.gradient + begin);
#pragma unroll
  for (int half = 0; half < kElements; half += 4) {
    float* sum = args.sum + begin + half;
    Vector<float, 4> sums = {};
    if (args.add) sums = LoadVector<4>(sum);
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] += FloatOf(gradient[half + i]);
    StoreVector<4>(sum, sums);
  }
}

unsigned ThreadBlocksFor(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

CudaResult LaunchInitialPlusBias(const InitialPlusBias& args, CUstream_st* stream) {
  const LaunchShape shape{ThreadBlocksFor(args.m * args.n), kThreads};
  if (args.is_bf16) return Launch(StoreInitialPlusBias<uint16_t>, shape, stream, args);
  return Launch(StoreInitialPlusBias<float>, shape, stream, args);
}

CudaResult LaunchSumRoundedGradient(const RoundedGradient& args, CUstream_st* stream) {
  const int64_t threads = (args.count + kElements - 1) / kElements;
  return Launch(SumRoundedGradient, {ThreadBlocksFor(threads), kThreads}, stream, args);
}

}  // namespace horizon
