#include "kernels/activation/glu_launch.h"
#include "kernels/cuda/cuda_glu.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kElementsPerThreadBlock = kThreads * kElementsPerThread;

// Forward and backward both compute the output here, so it has the same bits.
__device__ __forceinline__ float Output(float gate, float sigmoid, float up) {
  return __fmul_rn(__fmul_rn(gate, sigmoid), up);
}

// Calls body(first, count, whole) for each group of kElementsPerThread elements of the calling
// thread; `count` and `whole` as in LoadElements.
template <typename Body>
__device__ __forceinline__ void ForEachElementGroup(int64_t count, bool aligned, const Body& body) {
  const int64_t stride = int64_t{gridDim.x} * kElementsPerThreadBlock;
  for (int64_t i = int64_t{blockIdx.x} * kElementsPerThreadBlock + threadIdx.x * kElementsPerThread;
       i < count; i += stride) {
    body(i, count - i, aligned && i + kElementsPerThread <= count);
  }
}

template <GluActivation kActivation>
__global__ void __launch_bounds__(kThreads) Forward(GluForwardLaunch values, bool aligned) {
  ForEachElementGroup(values.count, aligned, [&](int64_t i, int64_t count, bool whole) {
    const ThreadElements<float> gates = LoadAsFloat(values.gate + i, count, whole);
    ThreadElements<float> outputs = LoadAsFloat(values.up + i, count, whole);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      outputs[j] = Output(gates[j], SigmoidOf<kActivation>(gates[j]), outputs[j]);
    }
    StoreFromFloat(values.output + i, outputs, count, whole);
  });
}

template <GluActivation kActivation>
__global__ void __launch_bounds__(kThreads) Backward(GluBackwardLaunch args, bool aligned) {
  ForEachElementGroup(args.count, aligned, [&](int64_t i, int64_t count, bool whole) {
    ThreadElements<float> gates = LoadAsFloat(args.gate + i, count, whole);
    ThreadElements<float> ups = LoadAsFloat(args.up + i, count, whole);
    const ThreadElements<float> gradients = LoadAsFloat(args.output_gradient + i, count, whole);
    ThreadElements<float> outputs;
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      const float sigmoid = SigmoidOf<kActivation>(gates[j]);
      const float value = __fmul_rn(gates[j], sigmoid);
      const float slope = SlopeOf<kActivation>(gates[j], sigmoid, value);
      outputs[j] = Output(gates[j], sigmoid, ups[j]);
      gates[j] = __fmul_rn(__fmul_rn(gradients[j], ups[j]), slope);
      ups[j] = __fmul_rn(gradients[j], value);
    }
    if (args.output != nullptr) StoreFromFloat(args.output + i, outputs, count, whole);
    StoreFromFloat(args.gate_gradient + i, gates, count, whole);
    StoreFromFloat(args.up_gradient + i, ups, count, whole);
  });
}

}  // namespace

CudaResult LaunchGluForward(const GluForwardLaunch& values, CUstream_st* stream) {
  const bool aligned = IsAlignedForVectors(values.gate) && IsAlignedForVectors(values.up) &&
                       IsAlignedForVectors(values.output);
  const auto kernel = values.activation == GluActivation::kGeluTanh
                          ? Forward<GluActivation::kGeluTanh>
                          : Forward<GluActivation::kSilu>;
  return Launch(kernel,
                LaunchShape{ThreadBlocksFor(values.count, kElementsPerThreadBlock), kThreads},
                stream, values, aligned);
}

CudaResult LaunchGluBackward(const GluBackwardLaunch& gradients, CUstream_st* stream) {
  const bool aligned =
      IsAlignedForVectors(gradients.gate) && IsAlignedForVectors(gradients.up) &&
      IsAlignedForVectors(gradients.output_gradient) && IsAlignedForVectors(gradients.output) &&
      IsAlignedForVectors(gradients.gate_gradient) && IsAlignedForVectors(gradients.up_gradient);
  const auto kernel = gradients.activation == GluActivation::kGeluTanh
                          ? Backward<GluActivation::kGeluTanh>
                          : Backward<GluActivation::kSilu>;
  return Launch(kernel,
                LaunchShape{ThreadBlocksFor(gradients.count, kElementsPerThreadBlock), kThreads},
                stream, gradients, aligned);
}

}  // namespace horizon
