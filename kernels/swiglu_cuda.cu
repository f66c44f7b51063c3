#include "kernels/cuda_eight.cuh"
#include "kernels/cuda_launch.cuh"
#include "kernels/swiglu_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kElementsOfBlock = kThreads * 8;

// 1 / (1 + e^-x): no overflow on either side.
__device__ __forceinline__ float Sigmoid(float x) {
  return __fdiv_rn(1.0f, __fadd_rn(1.0f, expf(-x)));
}

// Both directions have the output's bits from here.
__device__ __forceinline__ float Output(float gate, float sigmoid, float up) {
  return __fmul_rn(__fmul_rn(gate, sigmoid), up);
}

// body(first, count, whole) for the runs of eight that are the calling thread's.
template <typename Body>
__device__ __forceinline__ void ForEachEight(int64_t count, bool aligned, const Body& body) {
  const int64_t stride = int64_t{gridDim.x} * kElementsOfBlock;
  for (int64_t i = int64_t{blockIdx.x} * kElementsOfBlock + threadIdx.x * 8; i < count;
       i += stride) {
    body(i, count - i, aligned && i + 8 <= count);
  }
}

__global__ void __launch_bounds__(kThreads) Forward(SwigluValues values, bool aligned) {
  ForEachEight(values.count, aligned, [&](int64_t i, int64_t count, bool whole) {
    const Eight<float> gates = LoadNumbers(values.gate + i, count, whole);
    Eight<float> outputs = LoadNumbers(values.up + i, count, whole);
#pragma unroll
    for (int j = 0; j < 8; ++j) outputs[j] = Output(gates[j], Sigmoid(gates[j]), outputs[j]);
    StoreNumbers(values.output + i, outputs, count, whole);
  });
}

__global__ void __launch_bounds__(kThreads) Backward(SwigluGradients args, bool aligned) {
  ForEachEight(args.count, aligned, [&](int64_t i, int64_t count, bool whole) {
    Eight<float> gates = LoadNumbers(args.gate + i, count, whole);
    Eight<float> ups = LoadNumbers(args.up + i, count, whole);
    const Eight<float> gradients = LoadNumbers(args.output_gradient + i, count, whole);
    Eight<float> outputs;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float sigmoid = Sigmoid(gates[j]);
      const float silu = __fmul_rn(gates[j], sigmoid);
      const float slope = __fmaf_rn(silu, __fsub_rn(1.0f, sigmoid), sigmoid);
      outputs[j] = Output(gates[j], sigmoid, ups[j]);
      gates[j] = __fmul_rn(__fmul_rn(gradients[j], ups[j]), slope);
      ups[j] = __fmul_rn(gradients[j], silu);
    }
    if (args.output != nullptr) StoreNumbers(args.output + i, outputs, count, whole);
    StoreNumbers(args.gate_gradient + i, gates, count, whole);
    StoreNumbers(args.up_gradient + i, ups, count, whole);
  });
}

}  // namespace

CudaResult LaunchSwigluForward(const SwigluValues& values, CUstream_st* stream) {
  const bool aligned =
      IsEightAligned(values.gate) && IsEightAligned(values.up) && IsEightAligned(values.output);
  return Launch(Forward, LaunchShape{BlocksFor(values.count, kElementsOfBlock), kThreads}, stream,
                values, aligned);
}

CudaResult LaunchSwigluBackward(const SwigluGradients& gradients, CUstream_st* stream) {
  const bool aligned =
      IsEightAligned(gradients.gate) && IsEightAligned(gradients.up) &&
      IsEightAligned(gradients.output_gradient) && IsEightAligned(gradients.output) &&
      IsEightAligned(gradients.gate_gradient) && IsEightAligned(gradients.up_gradient);
  return Launch(Backward, LaunchShape{BlocksFor(gradients.count, kElementsOfBlock), kThreads},
                stream, gradients, aligned);
}

}  // namespace horizon
