#include "kernels/activation/glu_launch.h"
#include "kernels/cuda/cuda_eight.cuh"
#include "kernels/cuda/cuda_launch.cuh"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kElementsOfBlock = kThreads * 8;

// 1 / (1 + e^-x): no overflow on either side.
__device__ __forceinline__ float Sigmoid(float x) {
  return __fdiv_rn(1.0f, __fadd_rn(1.0f, expf(-x)));
}

__device__ __forceinline__ float GeluBounded(float gate) {
  return fminf(fmaxf(gate, -kGeluBound), kGeluBound);
}

// The sigmoid that a gate is multiplied with.
template <GluActivation kActivation>
__device__ __forceinline__ float SigmoidOf(float gate) {
  if constexpr (kActivation == GluActivation::kSilu) {
    return Sigmoid(gate);
  } else {
    const float bounded = GeluBounded(gate);
    const float cubic = __fmul_rn(kGeluCubic, __fmul_rn(bounded, bounded));
    return Sigmoid(__fmul_rn(bounded, __fadd_rn(kGeluLinear, cubic)));
  }
}

// The derivative of the activation, value = gate x sigmoid: by the product rule, with
// sigmoid' = sigmoid (1 - sigmoid) times the derivative of its argument.
template <GluActivation kActivation>
__device__ __forceinline__ float SlopeOf(float gate, float sigmoid, float value) {
  if constexpr (kActivation == GluActivation::kSilu) {
    return __fmaf_rn(value, __fsub_rn(1.0f, sigmoid), sigmoid);
  } else {
    const float bounded = GeluBounded(gate);
    const float cubic = __fmul_rn(3.0f * kGeluCubic, __fmul_rn(bounded, bounded));
    return __fmaf_rn(__fmul_rn(value, __fsub_rn(1.0f, sigmoid)), __fadd_rn(kGeluLinear, cubic),
                     sigmoid);
  }
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

template <GluActivation kActivation>
__global__ void __launch_bounds__(kThreads) Forward(GluValues values, bool aligned) {
  ForEachEight(values.count, aligned, [&](int64_t i, int64_t count, bool whole) {
    const Eight<float> gates = LoadNumbers(values.gate + i, count, whole);
    Eight<float> outputs = LoadNumbers(values.up + i, count, whole);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      outputs[j] = Output(gates[j], SigmoidOf<kActivation>(gates[j]), outputs[j]);
    }
    StoreNumbers(values.output + i, outputs, count, whole);
  });
}

template <GluActivation kActivation>
__global__ void __launch_bounds__(kThreads) Backward(GluGradients args, bool aligned) {
  ForEachEight(args.count, aligned, [&](int64_t i, int64_t count, bool whole) {
    Eight<float> gates = LoadNumbers(args.gate + i, count, whole);
    Eight<float> ups = LoadNumbers(args.up + i, count, whole);
    const Eight<float> gradients = LoadNumbers(args.output_gradient + i, count, whole);
    Eight<float> outputs;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float sigmoid = SigmoidOf<kActivation>(gates[j]);
      const float value = __fmul_rn(gates[j], sigmoid);
      const float slope = SlopeOf<kActivation>(gates[j], sigmoid, value);
      outputs[j] = Output(gates[j], sigmoid, ups[j]);
      gates[j] = __fmul_rn(__fmul_rn(gradients[j], ups[j]), slope);
      ups[j] = __fmul_rn(gradients[j], value);
    }
    if (args.output != nullptr) StoreNumbers(args.output + i, outputs, count, whole);
    StoreNumbers(args.gate_gradient + i, gates, count, whole);
    StoreNumbers(args.up_gradient + i, ups, count, whole);
  });
}

}  // namespace

CudaResult LaunchGluForward(const GluValues& values, CUstream_st* stream) {
  const bool aligned =
      IsEightAligned(values.gate) && IsEightAligned(values.up) && IsEightAligned(values.output);
  const auto kernel = values.activation == GluActivation::kGeluTanh
                          ? Forward<GluActivation::kGeluTanh>
                          : Forward<GluActivation::kSilu>;
  return Launch(kernel, LaunchShape{BlocksFor(values.count, kElementsOfBlock), kThreads}, stream,
                values, aligned);
}

CudaResult LaunchGluBackward(const GluGradients& gradients, CUstream_st* stream) {
  const bool aligned =
      IsEightAligned(gradients.gate) && IsEightAligned(gradients.up) &&
      IsEightAligned(gradients.output_gradient) && IsEightAligned(gradients.output) &&
      IsEightAligned(gradients.gate_gradient) && IsEightAligned(gradients.up_gradient);
  const auto kernel = gradients.activation == GluActivation::kGeluTanh
                          ? Backward<GluActivation::kGeluTanh>
                          : Backward<GluActivation::kSilu>;
  return Launch(kernel, LaunchShape{BlocksFor(gradients.count, kElementsOfBlock), kThreads}, stream,
                gradients, aligned);
}

}  // namespace horizon
