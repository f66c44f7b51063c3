#include <cfloat>

#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/head/head_loss_launch.h"

namespace horizon {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kWarps = kThreads / kWarpThreads;
constexpr int kFp32PerVector = 4;  // fp32 in 16 bytes
constexpr int kBf16PerVector = 8;  // bf16 in 16 bytes
// The part of a tile of the vocabulary that a warp lane holds: vectors of four, a warp's width
// apart.
constexpr int kWarpElements = kFp32PerVector * static_cast<int>(kWarpThreads);
constexpr int kVectors = static_cast<int>(kVocabularyTileRows) / kWarpElements;

// Logits row .. row + 3 of a token, scaled. Those at `rows` and behind are not read; they are
// -infinity, which adds nothing to the sum of exponentials.
__device__ __forceinline__ Vector<float, kFp32PerVector> LoadLogits(const float* logits,
                                                                    float logit_scale, int64_t row,
                                                                    int64_t rows) {
  Vector<float, kFp32PerVector> values;
  if (row + kFp32PerVector <= rows) {
    values = LoadVector<kFp32PerVector>(logits + row);
#pragma unroll
    for (int i = 0; i < kFp32PerVector; ++i) values[i] = __fmul_rn(logit_scale, values[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kFp32PerVector; ++i) {
      values[i] = row + i < rows ? __fmul_rn(logit_scale, logits[row + i]) : -INFINITY;
    }
  }
  return values;
}

// The softmax sums of one token over one tile of the vocabulary; every lane of the warp gets them.
struct TileSums {
  float largest;
  float sum;  // of exp(logit - largest)
};
__device__ __forceinline__ TileSums SumTile(const float* logits, float logit_scale, int64_t rows) {
  const int warp_lane = static_cast<int>(threadIdx.x % kWarpThreads);
  Vector<float, kFp32PerVector> values[kVectors];
  float largest = -INFINITY;
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
    const int row = vector * kWarpElements + warp_lane * kFp32PerVector;
    if (row < rows) {
      values[vector] = LoadLogits(logits, logit_scale, row, rows);
#pragma unroll
      for (int i = 0; i < kFp32PerVector; ++i) largest = fmaxf(largest, values[vector][i]);
    }
  }
  largest = WarpMax(largest);
  float sum = 0.0f;
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
    if (vector * kWarpElements + warp_lane * kFp32PerVector < rows) {
#pragma unroll
      for (int i = 0; i < kFp32PerVector; ++i) sum += expf(values[vector][i] - largest);
    }
  }
  return {largest, WarpSum(sum)};
}

__device__ __forceinline__ void Continue(float largest_of_tile, float sum_of_tile,
                                         TokenSums& sums) {
  const float largest = fmaxf(sums.largest, largest_of_tile);
  sums.sum =
      sums.sum * expf(sums.largest - largest) + sum_of_tile * expf(largest_of_tile - largest);
  sums.largest = largest;
}

// A thread block handles one token. Each warp sums a tile of the vocabulary, then thread 0 takes
// the tiles in their order, so that it does not matter how many there are in a shard. Four blocks
// at a time are half of a multiprocessor's threads or more.
__global__ void __launch_bounds__(kThreads, 4) SumLogits(LogitRows args, TokenSums* all_sums) {
  __shared__ Shared<float, kWarps> largest;
  __shared__ Shared<float, kWarps> sum;
  const int64_t token = blockIdx.x;
  const int warp = static_cast<int>(threadIdx.x / kWarpThreads);
  const float* logits = args.logits + token * args.stride;
  TokenSums sums = {-INFINITY, 0.0f, 0.0f};
  if (threadIdx.x == 0 && args.first_row > 0) sums = all_sums[token];
  for (int64_t first = 0; first < args.rows; first += kWarps * kVocabularyTileRows) {
    const int64_t begin = first + warp * kVocabularyTileRows;
    if (begin < args.rows) {
      const TileSums tile =
          SumTile(logits + begin, args.logit_scale, min(kVocabularyTileRows, args.rows - begin));
      if (threadIdx.x % kWarpThreads == 0) {
        largest[warp] = tile.largest;
        sum[warp] = tile.sum;
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < kWarps && first + i * kVocabularyTileRows < args.rows; ++i) {
        Continue(largest[i], sum[i], sums);
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    const int64_t label = args.records[token].label;
    const int64_t row = label - args.first_row;
    if (label >= 0 && row >= 0 && row < args.rows) {
      sums.label_logit = __fmul_rn(args.logit_scale, logits[row]);
    }
    all_sums[token] = sums;
  }
}

// A thread block handles one token. Step by step it reads some logits, and when all have been read
// writes half as many bytes: never beyond what was read. The last vector is written whole: the
// padding behind the rows has room for it.
__global__ void __launch_bounds__(kThreads)
    DifferentiateLogits(LogitRows args, const TokenSums* all_sums, float scale) {
  const int64_t token = blockIdx.x;
  const int64_t label = args.records[token].label;
  const TokenSums sums = all_sums[token];
  const float factor = scale / sums.sum;
  const int64_t target = label - args.first_row;
  float* logits = args.logits + token * args.stride;
  uint16_t* gradients = reinterpret_cast<uint16_t*>(logits);
  for (int64_t first = 0; first < args.rows; first += int64_t{kThreads} * kFp32PerVector) {
    const int64_t row = first + threadIdx.x * kFp32PerVector;
    Vector<uint16_t, kFp32PerVector> rounded = {};
    if (row < args.rows && label >= 0) {
      const Vector<float, kFp32PerVector> values =
          LoadLogits(logits, args.logit_scale, row, args.rows);
#pragma unroll
      for (int i = 0; i < kFp32PerVector; ++i) {
        const float probability = factor * expf(values[i] - sums.largest);
        rounded[i] = Bf16Of(row + i == target ? probability - scale : probability);
      }
    }
    __syncthreads();
    if (row < args.rows) StoreVector<kFp32PerVector>(gradients + row, rounded);
  }
}

// One thread block handles all tokens, so that the tiles are added in their order.
constexpr unsigned kLossThreads = kLossTileTokens;
__global__ void __launch_bounds__(kLossThreads)
    AddLosses(int64_t tokens, const TokenRecord* records, const TokenSums* all_sums,
              LossSum* loss) {
  double sum = 0;
  int64_t count = 0;
  if (threadIdx.x == 0) {
    sum = loss->sum;
    count = loss->count;
  }
  for (int64_t first = 0; first < tokens; first += kLossTileTokens) {
    const int64_t token = first + threadIdx.x;
    const bool counts = token < tokens && records[token].label >= 0;
    double of_token = 0;
    if (counts) {
      const TokenSums sums = all_sums[token];
      of_token = log(static_cast<double>(sums.sum)) +
                 (static_cast<double>(sums.largest) - static_cast<double>(sums.label_logit));
    }
    sum += BlockSum<kLossThreads>(of_token);
    count += __syncthreads_count(counts);
  }
  if (threadIdx.x == 0) {
    loss->sum = sum;
    loss->count = count;
  }
}

__global__ void RoundValues(int64_t count, const float* __restrict__ values,
                            uint16_t* __restrict__ rounded) {
  const int64_t begin = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kBf16PerVector;
  if (begin >= count) return;
  const Vector<float, kFp32PerVector> low = LoadVector<kFp32PerVector>(values + begin);
  const Vector<float, kFp32PerVector> high =
      LoadVector<kFp32PerVector>(values + begin + kFp32PerVector);
  Vector<uint16_t, kBf16PerVector> elements;
#pragma unroll
  for (int i = 0; i < kFp32PerVector; ++i) {
    elements[i] = Bf16Of(low[i]);
    elements[kFp32PerVector + i] = Bf16Of(high[i]);
  }
  StoreVector<kBf16PerVector>(rounded + begin, elements);
}

}  // namespace

CudaResult LaunchSumLogits(const LogitRows& rows, TokenSums* sums, CUstream_st* stream) {
  return Launch(SumLogits, {static_cast<unsigned>(rows.tokens), kThreads}, stream, rows, sums);
}

CudaResult LaunchDifferentiateLogits(const LogitRows& rows, const TokenSums* sums, float scale,
                                     CUstream_st* stream) {
  return Launch(DifferentiateLogits, {static_cast<unsigned>(rows.tokens), kThreads}, stream, rows,
                sums, scale);
}

CudaResult LaunchAddLosses(int64_t tokens, const TokenRecord* records, const TokenSums* sums,
                           LossSum* loss, CUstream_st* stream) {
  return Launch(AddLosses, {1, kLossThreads}, stream, tokens, records, sums, loss);
}

CudaResult LaunchRoundValues(int64_t count, const float* values, uint16_t* rounded,
                             CUstream_st* stream) {
  const int64_t vectors = (count + kBf16PerVector - 1) / kBf16PerVector;
  const auto blocks = static_cast<unsigned>((vectors + kThreads - 1) / kThreads);
  return Launch(RoundValues, {blocks, kThreads}, stream, count, values, rounded);
}

CudaResult LaunchZeroBytes(void* values, uint64_t bytes, CUstream_st* stream) {
  return ToResult(cudaMemsetAsync(values, 0, bytes, stream));
}

}  // namespace horizon
