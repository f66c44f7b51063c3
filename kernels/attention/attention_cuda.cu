#include <cfloat>

#include "kernels/attention/attention_launch.h"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/cuda_reduce.cuh"

namespace horizon {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kWarpThreads;
constexpr int kBf16PerVector = 8;  // bf16 in 16 bytes
constexpr int kFp32PerVector = 4;  // fp32 in 16 bytes
// The part of a row of scores that a warp lane holds: vectors of four, a warp's width apart.
constexpr int kVectors = kDeviceKeyTile / (kFp32PerVector * static_cast<int>(kWarpThreads));
constexpr int kWarpElements = kFp32PerVector * static_cast<int>(kWarpThreads);

// The vector of kBf16PerVector elements that a thread moves, in both layouts of heads.
struct HeadVector {
  bool inside;
  int64_t row;     // of [heads, tokens]
  int64_t entry;   // of [tokens, heads]
  int64_t column;  // of the first element
};
__device__ __forceinline__ HeadVector HeadVectorOfThread(const HeadsOfTokens& shape) {
  const int64_t vectors = shape.width / kBf16PerVector;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t entry = i / vectors;
  const int64_t token = entry / shape.heads;
  const int64_t head = entry % shape.heads;
  return {token < shape.tokens, head * shape.tokens + token, entry, i % vectors * kBf16PerVector};
}

__global__ void PackHeads(HeadsOfTokens shape, const uint16_t* __restrict__ token_major,
                          uint16_t* __restrict__ head_major) {
  const HeadVector at = HeadVectorOfThread(shape);
  if (!at.inside) return;
  StoreVector<kBf16PerVector>(
      head_major + at.row * shape.width + at.column,
      LoadVector<kBf16PerVector>(token_major + at.entry * shape.width + at.column));
}

__device__ __forceinline__ void StoreRoundedVector(const float* from, float factor, uint16_t* to) {
  const Vector<float, kFp32PerVector> low = LoadVector<kFp32PerVector>(from);
  const Vector<float, kFp32PerVector> high = LoadVector<kFp32PerVector>(from + kFp32PerVector);
  Vector<uint16_t, kBf16PerVector> rounded;
#pragma unroll
  for (int i = 0; i < kFp32PerVector; ++i) {
    rounded[i] = Bf16Of(low[i] * factor);
    rounded[kFp32PerVector + i] = Bf16Of(high[i] * factor);
  }
  StoreVector<kBf16PerVector>(to, rounded);
}

__global__ void UnpackHeads(HeadsOfTokens shape, const float* __restrict__ head_major,
                            uint16_t* __restrict__ token_major) {
  const HeadVector at = HeadVectorOfThread(shape);
  if (!at.inside) return;
  StoreRoundedVector(head_major + at.row * shape.width + at.column, 1.0f,
                     token_major + at.entry * shape.width + at.column);
}

__global__ void NormalizeOutput(UnnormalizedOutput args) {
  const HeadVector at = HeadVectorOfThread(args.shape);
  if (!at.inside) return;
  const float sum = args.sum[at.row];
  StoreRoundedVector(args.head_major + at.row * args.shape.width + at.column, 1.0f / sum,
                     args.output + at.entry * args.shape.width + at.column);
  if (at.column == 0) args.log_sum_exp[at.entry] = args.largest[at.row] + logf(sum);
}

// The row of scores that a warp works on, and the keys of the tile that its query attends to.
struct ScoreRow {
  bool inside;
  int64_t row;    // of [heads, queries]
  int64_t entry;  // of [queries, heads]
  int64_t begin;  // of the keys, from the tile's first
  int64_t end;
};
__device__ __forceinline__ ScoreRow RowOfWarp(const ScoreTile& tile) {
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarpThreads;
  if (row >= tile.heads * tile.queries) return {};
  const int64_t query = row % tile.queries;
  const int64_t t = tile.first_query + query;
  int64_t begin = t - tile.records[t].position;
  if (tile.window > 0) begin = max(begin, t - tile.window + 1);
  return {true, row, query * tile.heads + row / tile.queries, begin - tile.first_key,
          min(t + 1 - tile.first_key, tile.keys)};
}

// The key of element `i` of vector `vector` of the calling warp lane.
__device__ __forceinline__ int KeyOf(int vector, int i) {
  return vector * kWarpElements + static_cast<int>(threadIdx.x % kWarpThreads) * kFp32PerVector + i;
}
__device__ __forceinline__ bool Sees(const ScoreRow& row, int key) {
  return key >= row.begin && key < row.end;
}

struct WarpLaneScores {
  Vector<float, kFp32PerVector> values[kVectors];
};
__device__ __forceinline__ WarpLaneScores LoadScores(const float* row) {
  WarpLaneScores scores;
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
    scores.values[vector] = LoadVector<kFp32PerVector>(row + KeyOf(vector, 0));
  }
  return scores;
}
// Overwrites the first half of the row, which all lanes of the warp have loaded.
__device__ __forceinline__ void StoreRounded(const WarpLaneScores& scores, float* row) {
  uint16_t* rounded_row = reinterpret_cast<uint16_t*>(row);
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
    Vector<uint16_t, kFp32PerVector> rounded;
#pragma unroll
    for (int i = 0; i < kFp32PerVector; ++i) rounded[i] = Bf16Of(scores.values[vector][i]);
    StoreVector<kFp32PerVector>(rounded_row + KeyOf(vector, 0), rounded);
  }
}

__global__ void __launch_bounds__(kThreads) ContinueSoftmax(SoftmaxTile args) {
  const ScoreRow row = RowOfWarp(args.tile);
  if (!row.inside) return;
  float* score_row = args.scores + row.row * kDeviceKeyTile;
  WarpLaneScores scores = LoadScores(score_row);
  // Finite, so that a query which has seen no key yet has factor exp(0) and not exp(inf - inf).
  float before = -FLT_MAX;
  if (!args.is_first_tile) {
    before = args.largest[row.row];
  } else if (args.sinks != nullptr) {
    before = FloatOf(args.sinks[row.row / args.tile.queries]);
  }
  float largest = before;
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
#pragma unroll
    for (int i = 0; i < kFp32PerVector; ++i) {
      if (Sees(row, KeyOf(vector, i))) largest = fmaxf(largest, scores.values[vector][i]);
    }
  }
  largest = WarpMax(largest);
  float sum = 0.0f;
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
#pragma unroll
    for (int i = 0; i < kFp32PerVector; ++i) {
      float& value = scores.values[vector][i];
      value = Sees(row, KeyOf(vector, i)) ? expf(value - largest) : 0.0f;
      sum += value;
    }
  }
  sum = WarpSum(sum);
  __syncwarp();
  StoreRounded(scores, score_row);
  const float factor = expf(before - largest);
  if (threadIdx.x % kWarpThreads == 0) {
    const float first_sum = args.sinks != nullptr ? 1.0f : 0.0f;
    args.largest[row.row] = largest;
    args.sum[row.row] = (args.is_first_tile ? first_sum : args.sum[row.row]) * factor + sum;
  }
  if (args.is_first_tile || factor == 1.0f) return;
  float* output = args.output + row.row * args.width;
  for (int64_t i = KeyOf(0, 0); i < args.width; i += kWarpElements) {
    Vector<float, kFp32PerVector> values = LoadVector<kFp32PerVector>(output + i);
#pragma unroll
    for (int j = 0; j < kFp32PerVector; ++j) values[j] *= factor;
    StoreVector<kFp32PerVector>(output + i, values);
  }
}

__global__ void __launch_bounds__(kThreads) DifferentiateScores(ScoreGradients args) {
  const ScoreRow row = RowOfWarp(args.tile);
  if (!row.inside) return;
  float* score_row = args.scores + row.row * kDeviceKeyTile;
  float* gradient_row = args.gradients + row.row * kDeviceKeyTile;
  WarpLaneScores scores = LoadScores(score_row);
  WarpLaneScores gradients = LoadScores(gradient_row);
  const float log_sum_exp = args.log_sum_exp[row.entry];
  const float dot = args.output_dot[row.entry];
#pragma unroll
  for (int vector = 0; vector < kVectors; ++vector) {
#pragma unroll
    for (int i = 0; i < kFp32PerVector; ++i) {
      float& score = scores.values[vector][i];
      float& gradient = gradients.values[vector][i];
      const bool sees = Sees(row, KeyOf(vector, i));
      score = sees ? expf(score - log_sum_exp) : 0.0f;
      gradient = sees ? score * (gradient - dot) : 0.0f;
    }
  }
  __syncwarp();
  StoreRounded(scores, score_row);
  StoreRounded(gradients, gradient_row);
}

__global__ void DotRows(RowDots args) {
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarpThreads;
  if (row >= args.rows) return;
  float sum = 0.0f;
  for (int64_t i = int64_t{threadIdx.x % kWarpThreads} * kBf16PerVector; i < args.width;
       i += int64_t{kWarpThreads} * kBf16PerVector) {
    const Vector<uint16_t, kBf16PerVector> a =
        LoadVector<kBf16PerVector>(args.a + row * args.width + i);
    const Vector<uint16_t, kBf16PerVector> b =
        LoadVector<kBf16PerVector>(args.b + row * args.width + i);
#pragma unroll
    for (int j = 0; j < kBf16PerVector; ++j) sum += FloatOf(a[j]) * FloatOf(b[j]);
  }
  sum = WarpSum(sum);
  if (threadIdx.x % kWarpThreads == 0) args.dots[row] = sum;
}

unsigned ThreadBlocksFor(int64_t pieces, unsigned items_per_block) {
  return static_cast<unsigned>((pieces + items_per_block - 1) / items_per_block);
}
LaunchShape VectorPerThread(const HeadsOfTokens& shape) {
  return {ThreadBlocksFor(shape.tokens * shape.heads * (shape.width / kBf16PerVector), kThreads),
          kThreads};
}
LaunchShape RowPerWarp(int64_t rows) { return {ThreadBlocksFor(rows, kWarps), kThreads}; }

}  // namespace

CudaResult LaunchPackHeads(const HeadsOfTokens& shape, const uint16_t* token_major,
                           uint16_t* head_major, CUstream_st* stream) {
  return Launch(PackHeads, VectorPerThread(shape), stream, shape, token_major, head_major);
}
CudaResult LaunchUnpackHeads(const HeadsOfTokens& shape, const float* head_major,
                             uint16_t* token_major, CUstream_st* stream) {
  return Launch(UnpackHeads, VectorPerThread(shape), stream, shape, head_major, token_major);
}
CudaResult LaunchZeros(float* sums, int64_t count, CUstream_st* stream) {
  return ToResult(cudaMemsetAsync(sums, 0, static_cast<size_t>(count) * sizeof(*sums), stream));
}
CudaResult LaunchSoftmaxTile(const SoftmaxTile& args, CUstream_st* stream) {
  return Launch(ContinueSoftmax, RowPerWarp(args.tile.heads * args.tile.queries), stream, args);
}
CudaResult LaunchNormalizeOutput(const UnnormalizedOutput& args, CUstream_st* stream) {
  return Launch(NormalizeOutput, VectorPerThread(args.shape), stream, args);
}
CudaResult LaunchRowDots(const RowDots& args, CUstream_st* stream) {
  return Launch(DotRows, RowPerWarp(args.rows), stream, args);
}
CudaResult LaunchScoreGradients(const ScoreGradients& args, CUstream_st* stream) {
  return Launch(DifferentiateScores, RowPerWarp(args.tile.heads * args.tile.queries), stream, args);
}

}  // namespace horizon
