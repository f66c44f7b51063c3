#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/experts/router_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpLanes = static_cast<int>(kWarpThreads);
constexpr int kTokensPerThreadBlock = kThreads / kWarpLanes;

// Calls body(token) for the tokens of the calling thread's warp.
template <typename Body>
__device__ __forceinline__ void ForEachToken(int64_t tokens, const Body& body) {
  for (int64_t token = int64_t{blockIdx.x} * kTokensPerThreadBlock + threadIdx.x / kWarpThreads;
       token < tokens; token += int64_t{gridDim.x} * kTokensPerThreadBlock) {
    body(token);
  }
}

__device__ __forceinline__ int WarpLane() { return static_cast<int>(threadIdx.x) % kWarpLanes; }

// A number by which logits are in order: NaN counts as -infinity, and the two zeros are equal. It
// is not 0.
__device__ __forceinline__ uint32_t OrderOf(float logit) {
  if (logit != logit) logit = -INFINITY;
  const uint32_t bits = __float_as_uint(__fadd_rn(logit, 0.0f));  // -0 becomes +0
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// A number that is the larger the sooner the router chooses the expert: first by the logit, then
// the lowest expert first. No two experts have the same.
__device__ __forceinline__ uint64_t RankOf(uint32_t order, int expert) {
  return uint64_t{order} << 32 | ~static_cast<uint32_t>(expert);
}

__device__ __forceinline__ uint64_t WarpLargest(uint64_t value) {
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    const uint64_t other = __shfl_xor_sync(kWholeWarp, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

// The number of the j-th expert of the running lane.
__device__ __forceinline__ int ExpertOfLane(int j) { return j * kWarpLanes + WarpLane(); }

// Chooses `count` experts. Bit j of the result: the j-th expert of the running lane is one of them.
// The orders are those of the lane's experts, 0 where there is none.
template <int kPerLane>
__device__ __forceinline__ uint32_t Choose(const uint32_t (&orders)[kPerLane], int count) {
  uint32_t chosen = 0;
  for (int i = 0; i < count; ++i) {
    // The best of the lane's experts that are left; of equal ones the lowest.
    uint32_t order = 0;
    int at = 0;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      if ((chosen >> j & 1u) == 0 && orders[j] > order) {
        order = orders[j];
        at = j;
      }
    }
    const uint64_t rank = RankOf(order, ExpertOfLane(at));
    if (WarpLargest(rank) == rank) chosen |= 1u << at;
  }
  return chosen;
}

// A warp handles a token; a lane holds the logits of every kWarpLanes-th expert, and then their
// exponentials. Four blocks at a time are half of a multiprocessor's threads or more.
template <int kPerLane>
__global__ void __launch_bounds__(kThreads, 4) ChooseExperts(RouterForwardLaunch args) {
  ForEachToken(args.tokens, [&](int64_t token) {
    const float* logits = args.logits + token * args.experts;
    float values[kPerLane];
    uint32_t orders[kPerLane];
    float largest = -INFINITY;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int expert = ExpertOfLane(j);
      values[j] = -INFINITY;
      orders[j] = 0;
      if (expert >= args.experts) continue;
      values[j] = logits[expert];
      if (args.bias != nullptr) values[j] = __fadd_rn(values[j], FloatOf(args.bias[expert]));
      orders[j] = OrderOf(values[j]);
      largest = fmaxf(largest, values[j]);
    }
    const uint32_t chosen = Choose(orders, args.per_token);

    largest = WarpMax(largest);
    float sum = 0.0f;
    float sum_of_chosen = 0.0f;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      if (orders[j] == 0) continue;
      values[j] = expf(__fsub_rn(values[j], largest));
      sum = __fadd_rn(sum, values[j]);
      if ((chosen >> j & 1u) != 0) {
        sum_of_chosen = __fadd_rn(sum_of_chosen, values[j]);
      }
    }
    sum = WarpSum(sum);
    sum_of_chosen = WarpSum(sum_of_chosen);

    float* probabilities = args.probabilities + token * args.experts;
    int64_t place = token * args.per_token;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int expert = ExpertOfLane(j);
      const bool is_chosen = (chosen >> j & 1u) != 0;
      const unsigned lanes = __ballot_sync(kWholeWarp, is_chosen);
      if (expert < args.experts) probabilities[expert] = __fdiv_rn(values[j], sum);
      if (is_chosen) {
        const int64_t at = place + __popc(lanes & ((1u << WarpLane()) - 1u));
        args.chosen[at] = expert;
        args.weights[at] = __fdiv_rn(values[j], args.softmax_of_all ? sum : sum_of_chosen);
      }
      place += __popc(lanes);
    }
  });
}

// The gradient of a token's logits. Both kinds of weights are a softmax w, whose logits have the
// gradient w (dw - sum of w dw); so are the probabilities. Weights that are probabilities add their
// gradients to those of the probabilities.
//
// A warp handles a token. It stores first what all experts have, then what the chosen ones have.
__global__ void __launch_bounds__(kThreads) DifferentiateWeights(RouterBackwardLaunch args) {
  ForEachToken(args.tokens, [&](int64_t token) {
    const float* p = args.probabilities + token * args.experts;
    const int32_t* chosen = args.chosen + token * args.per_token;
    const float* w = args.weights + token * args.per_token;
    const float* dw = args.weight_gradient + token * args.per_token;
    const float* dp = args.probability_gradient;
    if (dp != nullptr && args.records[token].label == kPaddingLabel) dp = nullptr;
    uint16_t* out = args.logit_gradient + token * args.experts;

    float of_weights = 0.0f;
#pragma unroll 1
    for (int64_t i = WarpLane(); i < args.per_token; i += kWarpLanes) {
      of_weights = __fmaf_rn(w[i], dw[i], of_weights);
    }
    of_weights = WarpSum(of_weights);
    float of_probabilities = 0.0f;
    if (dp != nullptr) {
#pragma unroll 2
      for (int64_t e = WarpLane(); e < args.experts; e += kWarpLanes) {
        of_probabilities = __fmaf_rn(p[e], dp[e], of_probabilities);
      }
      of_probabilities = WarpSum(of_probabilities);
    }
    const float mean =
        args.softmax_of_all ? __fadd_rn(of_probabilities, of_weights) : of_probabilities;
#pragma unroll 2
    for (int64_t e = WarpLane(); e < args.experts; e += kWarpLanes) {
      const float gradient = dp == nullptr ? 0.0f : dp[e];
      out[e] = Bf16Of(__fmul_rn(p[e], __fsub_rn(gradient, mean)));
    }
    __syncwarp();
#pragma unroll 1
    for (int64_t i = WarpLane(); i < args.per_token; i += kWarpLanes) {
      const int64_t e = chosen[i];
      const float gradient = dp == nullptr ? 0.0f : dp[e];
      if (args.softmax_of_all) {
        out[e] = Bf16Of(__fmul_rn(p[e], __fsub_rn(__fadd_rn(gradient, dw[i]), mean)));
      } else {
        const float of_probability = __fmul_rn(p[e], __fsub_rn(gradient, mean));
        out[e] = Bf16Of(__fmaf_rn(w[i], __fsub_rn(dw[i], of_weights), of_probability));
      }
    }
  });
}

// A thread block sums the probabilities of kWarpLanes experts. Each warp adds the tokens of a tile,
// then the first warp adds the tiles in their order.
constexpr int kSumThreads = 1024;
constexpr int kSumWarps = kSumThreads / kWarpLanes;
constexpr int64_t kTileTokens = 64;  // kRouterTileTokens of router.h
__global__ void __launch_bounds__(kSumThreads) SumProbabilities(RouterStatisticsLaunch args) {
  __shared__ Shared<double, kSumThreads> of_tiles;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int expert = static_cast<int>(blockIdx.x) * kWarpLanes + WarpLane();
  double total = 0.0;
  for (int64_t tiles = 0; tiles < args.tokens; tiles += kSumWarps * kTileTokens) {
    const int64_t first = tiles + warp * kTileTokens;
    if (expert < args.experts && first < args.tokens) {
      const int64_t end = min(first + kTileTokens, args.tokens);
      double sum = 0.0;
#pragma unroll 8
      for (int64_t token = first; token < end; ++token) {
        const float probability = args.probabilities[token * args.experts + expert];
        if (args.records[token].label != kPaddingLabel) sum = __dadd_rn(sum, probability);
      }
      of_tiles[static_cast<int>(threadIdx.x)] = sum;
    }
    __syncthreads();
    if (warp == 0 && expert < args.experts) {
      for (int i = 0; i < kSumWarps && tiles + i * kTileTokens < args.tokens; ++i) {
        total = __dadd_rn(total, of_tiles[i * kWarpLanes + WarpLane()]);
      }
    }
    __syncthreads();
  }
  if (warp == 0 && expert < args.experts) args.probability_sums[expert] = total;
}

// Adds how often each expert was chosen to counts that begin as zeros. The sums are of integers, so
// the order in which threads add does not matter.
__global__ void __launch_bounds__(kThreads) CountChosen(RouterStatisticsLaunch args) {
  __shared__ Shared<int, kMostRouterExperts> counts;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < args.experts; i += kThreads) counts[i] = 0;
  __syncthreads();
  const int64_t pairs = args.tokens * args.per_token;
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t pair = int64_t{blockIdx.x} * kThreads + thread; pair < pairs; pair += stride) {
    if (args.records[pair / args.per_token].label == kPaddingLabel) continue;
    atomicAdd(&counts[args.chosen[pair]], 1);
  }
  __syncthreads();
  for (int i = thread; i < args.experts; i += kThreads) {
    const int count = counts[i];
    if (count == 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(args.counts + i),
              static_cast<unsigned long long>(count));
  }
}

__global__ void __launch_bounds__(kThreads) AddLayers(RouterLossGradientLaunch args) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t expert = int64_t{blockIdx.x} * kThreads + threadIdx.x; expert < args.experts;
       expert += stride) {
    int64_t count = 0;
#pragma unroll 8
    for (int64_t layer = 0; layer < args.layers; ++layer) {
      count += args.counts[layer * args.layer_stride + expert];
    }
    args.gradient[expert] = __double2float_rn(__dmul_rn(args.scale, __ll2double_rn(count)));
  }
}

}  // namespace

CudaResult LaunchRouterForward(const RouterForwardLaunch& args, CUstream_st* stream) {
  constexpr int kFew = 4;
  constexpr int kMost = kMostRouterExperts / kWarpLanes;
  const unsigned blocks = ThreadBlocksFor(args.tokens, kTokensPerThreadBlock);
  return Launch(args.experts <= kFew * kWarpLanes ? ChooseExperts<kFew> : ChooseExperts<kMost>,
                LaunchShape{blocks, kThreads}, stream, args);
}

CudaResult LaunchRouterBackward(const RouterBackwardLaunch& args, CUstream_st* stream) {
  const unsigned blocks = ThreadBlocksFor(args.tokens, kTokensPerThreadBlock);
  return Launch(DifferentiateWeights, LaunchShape{blocks, kThreads}, stream, args);
}

CudaResult LaunchRouterStatistics(const RouterStatisticsLaunch& args, CUstream_st* stream) {
  const cudaError_t cleared = cudaMemsetAsync(
      args.counts, 0, static_cast<size_t>(args.experts) * sizeof(*args.counts), stream);
  if (cleared != cudaSuccess) return ToResult(cleared);
  const unsigned blocks = ThreadBlocksFor(args.experts, kWarpLanes);
  const CudaResult result =
      Launch(SumProbabilities, LaunchShape{blocks, kSumThreads}, stream, args);
  if (result.code != 0 || args.tokens == 0) return result;
  constexpr int64_t kPairsPerThread = 8;
  const unsigned counting =
      ThreadBlocksFor(args.tokens * args.per_token, kThreads * kPairsPerThread);
  return Launch(CountChosen, LaunchShape{counting, kThreads}, stream, args);
}

CudaResult LaunchRouterLossGradient(const RouterLossGradientLaunch& args, CUstream_st* stream) {
  const unsigned blocks = ThreadBlocksFor(args.experts, kThreads);
  return Launch(AddLayers, LaunchShape{blocks, kThreads}, stream, args);
}

}  // namespace horizon
