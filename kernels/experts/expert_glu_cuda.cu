#include "kernels/cuda/cuda_glu.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/experts/expert_glu_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kRowsPerThreadBlock = kThreads / kWarpThreads;
constexpr int64_t kWarpColumns = kWarpThreads * kElementsPerThread;

// The function of gate and up: an activation, or the one with limits.
enum class Unit { kSilu, kGeluTanh, kClamped };

// Its value and its derivatives. Forward and backward both compute the value here, so it has the
// same bits.
struct UnitTerms {
  float value;
  float by_gate;
  float by_up;
};

template <GluActivation kActivation>
__device__ __forceinline__ UnitTerms ActivatedUnit(float gate, float up) {
  const float sigmoid = SigmoidOf<kActivation>(gate);
  const float activated = __fmul_rn(gate, sigmoid);
  const float slope = SlopeOf<kActivation>(gate, sigmoid, activated);
  return {__fmul_rn(activated, up), __fmul_rn(slope, up), activated};
}

// Comparisons are such that NaN stays NaN.
__device__ __forceinline__ UnitTerms ClampedUnit(float gate, float up, float limit, float alpha) {
  const bool gate_is_clamped = gate > limit;
  const bool up_is_clamped = up > limit || up < -limit;
  const float g = gate_is_clamped ? limit : gate;
  const float u = up_is_clamped ? copysignf(limit, up) : up;
  const float factor = __fadd_rn(u, 1.0f);
  const float sigmoid = Sigmoid(__fmul_rn(alpha, g));
  const float activated = __fmul_rn(g, sigmoid);
  const float slope = __fmaf_rn(__fmul_rn(alpha, activated), __fsub_rn(1.0f, sigmoid), sigmoid);
  return {__fmul_rn(activated, factor), gate_is_clamped ? 0.0f : __fmul_rn(slope, factor),
          up_is_clamped ? 0.0f : activated};
}

template <Unit kUnit>
__device__ __forceinline__ UnitTerms UnitOf(const ExpertGluRows& rows, float gate, float up) {
  if constexpr (kUnit == Unit::kClamped) {
    return ClampedUnit(gate, up, rows.limit, rows.alpha);
  } else {
    return ActivatedUnit < kUnit == Unit::kSilu ? GluActivation::kSilu
                                                : GluActivation::kGeluTanh > (gate, up);
  }
}

// Eight gates of a row and the ups beside them, from gate number `column` on.
struct GateUp {
  ThreadElements<float> gates;
  ThreadElements<float> ups;
};
__device__ __forceinline__ GateUp LoadGateUp(const ExpertGluRows& rows, const uint16_t* row,
                                             int64_t column, bool whole) {
  constexpr int kHalf = kElementsPerThread / 2;
  if (!rows.interleaved) {
    return {LoadAsFloat(row + column, kElementsPerThread, whole),
            LoadAsFloat(row + rows.width + column, kElementsPerThread, whole)};
  }
  const uint16_t* from = row + 2 * column;
  const ThreadElements<float> first = LoadAsFloat(from, kElementsPerThread, whole);
  const ThreadElements<float> second =
      LoadAsFloat(from + kElementsPerThread, kElementsPerThread, whole);
  GateUp both;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    both.gates[i] = first[2 * i];
    both.ups[i] = first[2 * i + 1];
    both.gates[kHalf + i] = second[2 * i];
    both.ups[kHalf + i] = second[2 * i + 1];
  }
  return both;
}
__device__ __forceinline__ void StoreGateUp(const ExpertGluRows& rows, uint16_t* row,
                                            int64_t column, const GateUp& both, bool whole) {
  constexpr int kHalf = kElementsPerThread / 2;
  if (!rows.interleaved) {
    StoreFromFloat(row + column, both.gates, kElementsPerThread, whole);
    StoreFromFloat(row + rows.width + column, both.ups, kElementsPerThread, whole);
    return;
  }
  ThreadElements<float> first;
  ThreadElements<float> second;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    first[2 * i] = both.gates[i];
    first[2 * i + 1] = both.ups[i];
    second[2 * i] = both.gates[kHalf + i];
    second[2 * i + 1] = both.ups[kHalf + i];
  }
  uint16_t* to = row + 2 * column;
  StoreFromFloat(to, first, kElementsPerThread, whole);
  StoreFromFloat(to + kElementsPerThread, second, kElementsPerThread, whole);
}

// A thread handles eight units at a time.
template <Unit kUnit>
__global__ void __launch_bounds__(kThreads) Forward(ExpertGluForwardLaunch args, bool whole) {
  const ExpertGluRows& rows = args.rows;
  const int64_t begin = rows.begins[0];
  const int64_t groups = rows.width / kElementsPerThread;
  const int64_t items = (rows.begins[rows.experts] - begin) * groups;
  for (int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x; item < items;
       item += int64_t{gridDim.x} * kThreads) {
    const int64_t row = begin + item / groups;
    const int64_t column = item % groups * kElementsPerThread;
    const GateUp both = LoadGateUp(rows, args.gate_up + row * 2 * rows.width, column, whole);
    const float weight = rows.weights[rows.row_pairs[row]];
    ThreadElements<float> outputs;
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      outputs[j] = __fmul_rn(weight, UnitOf<kUnit>(rows, both.gates[j], both.ups[j]).value);
    }
    StoreFromFloat(args.output + row * rows.width + column, outputs, kElementsPerThread, whole);
  }
}

// The expert of a row: the last one that begins there or before.
__device__ __forceinline__ int ExpertOf(const ExpertGluRows& rows, int64_t row) {
  int expert = 0;
  int end = rows.experts;
  while (end - expert > 1) {
    const int middle = (expert + end) / 2;
    if (rows.begins[middle] <= row) {
      expert = middle;
    } else {
      end = middle;
    }
  }
  return expert;
}

// The part of the running lane in the dot product of the down projection's bias and the gradient of
// what the stage adds, added to `sum`.
__device__ __forceinline__ float AddBiasTerms(const ExpertGluBackwardLaunch& args, int64_t row,
                                              float sum, bool aligned) {
  const uint16_t* bias = args.down_bias + ExpertOf(args.rows, row) * args.down_bias_expert_stride;
  const uint16_t* gradient = args.down_gradient + args.row_tokens[row] * args.hidden;
  for (int64_t i = threadIdx.x % kWarpThreads * kElementsPerThread; i < args.hidden;
       i += kWarpColumns) {
    const int64_t count = args.hidden - i;
    const ThreadElements<float> biases = LoadAsFloat(bias + i, count, aligned);
    const ThreadElements<float> gradients = LoadAsFloat(gradient + i, count, aligned);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) sum = __fmaf_rn(biases[j], gradients[j], sum);
  }
  return sum;
}

// A warp handles a row: the sum over the row has one order, whatever the width.
template <Unit kUnit>
__global__ void __launch_bounds__(kThreads)
    Backward(ExpertGluBackwardLaunch args, bool whole, bool bias_aligned) {
  const ExpertGluRows& rows = args.rows;
  const int64_t end = rows.begins[rows.experts];
  for (int64_t row =
           rows.begins[0] + int64_t{blockIdx.x} * kRowsPerThreadBlock + threadIdx.x / kWarpThreads;
       row < end; row += int64_t{gridDim.x} * kRowsPerThreadBlock) {
    const int64_t pair = rows.row_pairs[row];
    const float weight = rows.weights[pair];
    float of_weight = 0.0f;
    for (int64_t column = threadIdx.x % kWarpThreads * kElementsPerThread; column < rows.width;
         column += kWarpColumns) {
      const int64_t at = row * rows.width + column;
      GateUp both = LoadGateUp(rows, args.gate_up + row * 2 * rows.width, column, whole);
      const ThreadElements<float> gradients =
          LoadAsFloat(args.output_gradient + at, kElementsPerThread, whole);
      ThreadElements<float> outputs;
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) {
        const UnitTerms unit = UnitOf<kUnit>(rows, both.gates[j], both.ups[j]);
        const float gradient = __fmul_rn(gradients[j], weight);
        of_weight = __fmaf_rn(gradients[j], unit.value, of_weight);
        outputs[j] = __fmul_rn(weight, unit.value);
        both.gates[j] = __fmul_rn(gradient, unit.by_gate);
        both.ups[j] = __fmul_rn(gradient, unit.by_up);
      }
      if (args.output != nullptr) {
        StoreFromFloat(args.output + at, outputs, kElementsPerThread, whole);
      }
      StoreGateUp(rows, args.gate_up_gradient + row * 2 * rows.width, column, both, whole);
    }
    if (args.down_bias != nullptr) of_weight = AddBiasTerms(args, row, of_weight, bias_aligned);
    of_weight = WarpSum(of_weight);
    if (threadIdx.x % kWarpThreads == 0) args.weight_gradient[pair] = of_weight;
  }
}

Unit UnitFor(const ExpertGluRows& rows) {
  if (rows.limit > 0.0f) return Unit::kClamped;
  return rows.activation == GluActivation::kGeluTanh ? Unit::kGeluTanh : Unit::kSilu;
}

}  // namespace

CudaResult LaunchExpertGluForward(const ExpertGluForwardLaunch& args, CUstream_st* stream) {
  const bool whole = IsAlignedForVectors(args.gate_up) && IsAlignedForVectors(args.output);
  const int64_t items = args.rows.most_rows * (args.rows.width / kElementsPerThread);
  const LaunchShape shape{ThreadBlocksFor(items, kThreads), kThreads};
  switch (UnitFor(args.rows)) {
    case Unit::kClamped:
      return Launch(Forward<Unit::kClamped>, shape, stream, args, whole);
    case Unit::kGeluTanh:
      return Launch(Forward<Unit::kGeluTanh>, shape, stream, args, whole);
    case Unit::kSilu:
      break;
  }
  return Launch(Forward<Unit::kSilu>, shape, stream, args, whole);
}

CudaResult LaunchExpertGluBackward(const ExpertGluBackwardLaunch& args, CUstream_st* stream) {
  const bool whole = IsAlignedForVectors(args.gate_up) &&
                     IsAlignedForVectors(args.output_gradient) &&
                     IsAlignedForVectors(args.output) && IsAlignedForVectors(args.gate_up_gradient);
  const bool bias_aligned = args.hidden % kElementsPerThread == 0 &&
                            args.down_bias_expert_stride % kElementsPerThread == 0 &&
                            IsAlignedForVectors(args.down_bias) &&
                            IsAlignedForVectors(args.down_gradient);
  const LaunchShape shape{ThreadBlocksFor(args.rows.most_rows, kRowsPerThreadBlock), kThreads};
  switch (UnitFor(args.rows)) {
    case Unit::kClamped:
      return Launch(Backward<Unit::kClamped>, shape, stream, args, whole, bias_aligned);
    case Unit::kGeluTanh:
      return Launch(Backward<Unit::kGeluTanh>, shape, stream, args, whole, bias_aligned);
    case Unit::kSilu:
      break;
  }
  return Launch(Backward<Unit::kSilu>, shape, stream, args, whole, bias_aligned);
}

}  // namespace horizon
