#include <cfloat>

#include "kernels/attention/cached_attention_launch.h"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "kernels/cuda/cuda_reduce.cuh"

namespace horizon {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kTile = kThreads;    // a thread scores one place
constexpr int kBf16PerVector = 8;  // bf16 in 16 bytes
constexpr int kMaxWidth = 512;

// The positions of every sample count from 0, so those of a row's later samples are smaller than if
// they counted on from the row's first token.
__device__ __forceinline__ bool IsOfFirstSample(const StoreKeysLaunch& args, int64_t row,
                                                int64_t t) {
  if (t >= args.sequence) return false;
  const TokenRecord* records = args.records + row * args.sequence;
  return records[t].position == records[0].position + t;
}

__global__ void CopyKeys(StoreKeysLaunch args) {
  const int64_t vectors = args.width / kBf16PerVector;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t token = i / vectors;
  if (token >= args.batch * args.sequence) return;
  const int64_t row = token / args.sequence;
  const int64_t t = token % args.sequence;
  // A later token may take the same place; then this one is not stored.
  if (!IsOfFirstSample(args, row, t) || IsOfFirstSample(args, row, t + args.places)) return;
  const int64_t place = row * args.places + args.records[token].position % args.places;
  const int64_t column = i % vectors * kBf16PerVector;
  StoreVector<kBf16PerVector>(args.to + place * args.width + column,
                              LoadVector<kBf16PerVector>(args.from + token * args.width + column));
}

__device__ __forceinline__ int64_t Seen(const CachedAttentionLaunch& args, int64_t row) {
  return min(int64_t{args.records[row].position} + 1, args.places);
}

// A thread block handles one row, head and tile.
__global__ void __launch_bounds__(kThreads) AttendTile(CachedAttentionLaunch args) {
  __shared__ Shared<float, kMaxWidth> query;
  __shared__ Shared<float, kTile> weights;
  __shared__ Shared<float, kThreads * kBf16PerVector> parts;
  const int64_t tile = blockIdx.x;
  const int64_t row = blockIdx.z;
  const int64_t entry = row * args.heads + blockIdx.y;  // of [batch, heads]
  const unsigned kv_head = blockIdx.y / args.group;
  const int64_t first = tile * kTile;
  const int count = static_cast<int>(min(Seen(args, row) - first, int64_t{kTile}));
  if (count <= 0) return;
  const int width = static_cast<int>(args.head_dim);
  const int64_t stride = args.kv_heads * args.head_dim;
  const int64_t begin = (row * args.places + first) * stride + kv_head * args.head_dim;
  const int thread = static_cast<int>(threadIdx.x);

  for (int i = thread; i < width; i += kThreads) {
    query[i] = FloatOf(args.q[entry * width + i]);
  }
  __syncthreads();
  float score = -FLT_MAX;
  if (thread < count) {
    const uint16_t* key = args.k + begin + thread * stride;
    float sum = 0.0f;
    for (int i = 0; i < width; i += kBf16PerVector) {
      const Vector<uint16_t, kBf16PerVector> elements = LoadVector<kBf16PerVector>(key + i);
#pragma unroll
      for (int j = 0; j < kBf16PerVector; ++j) sum += query[i + j] * FloatOf(elements[j]);
    }
    score = args.scale * sum;
  }
  const float largest = BlockMax<kThreads>(score);
  const float weight = thread < count ? expf(score - largest) : 0.0f;
  weights[thread] = weight;
  const float sum = BlockSum<kThreads>(weight);  // its barriers also publish all weights

  // A thread sums kBf16PerVector columns. Groups of threads share the places, and their sums are
  // added in order.
  const int columns = width / kBf16PerVector;
  const int groups = kThreads / columns;
  const int group = thread / columns;
  float sums[kBf16PerVector] = {};
  if (group < groups) {
    const uint16_t* values = args.v + begin + thread % columns * kBf16PerVector;
    for (int place = group; place < count; place += groups) {
      const Vector<uint16_t, kBf16PerVector> elements =
          LoadVector<kBf16PerVector>(values + place * stride);
      const float place_weight = weights[place];
#pragma unroll
      for (int j = 0; j < kBf16PerVector; ++j) sums[j] += place_weight * FloatOf(elements[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < kBf16PerVector; ++j) parts[thread * kBf16PerVector + j] = sums[j];
  __syncthreads();
  const int64_t out = entry * args.tiles + tile;
  for (int i = thread; i < width; i += kThreads) {
    float total = 0.0f;
    for (int of = 0; of < groups; ++of) total += parts[of * width + i];
    args.values[out * width + i] = total;
  }
  if (thread == 0) {
    args.largest[out] = largest;
    args.sum[out] = sum;
  }
}

// A thread block handles one row and head. The head's sink, if it has one, counts as a tile.
__global__ void __launch_bounds__(kThreads) JoinTiles(CachedAttentionLaunch args) {
  const int64_t row = blockIdx.y;
  const int64_t entry = row * args.heads + blockIdx.x;  // of [batch, heads]
  const int64_t seen = Seen(args, row);
  const int64_t tiles = (seen + kTile - 1) / kTile;
  const int64_t first = entry * args.tiles;
  const bool has_sink = args.sinks != nullptr;
  const float sink = has_sink ? FloatOf(args.sinks[blockIdx.x]) : -FLT_MAX;
  float largest = sink;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    largest = fmaxf(largest, args.largest[first + tile]);
  }
  for (int64_t i = threadIdx.x; i < args.head_dim; i += kThreads) {
    float sum = has_sink ? expf(sink - largest) : 0.0f;
    float value = 0.0f;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const float factor = expf(args.largest[first + tile] - largest);
      sum += factor * args.sum[first + tile];
      value += factor * args.values[(first + tile) * args.head_dim + i];
    }
    args.output[entry * args.head_dim + i] = Bf16Of(value / sum);
  }
}

}  // namespace

CudaResult LaunchStoreKeys(const StoreKeysLaunch& args, CUstream_st* stream) {
  const int64_t threads = args.batch * args.sequence * (args.width / kBf16PerVector);
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  return Launch(CopyKeys, {blocks, kThreads}, stream, args);
}

CudaResult LaunchCachedAttention(const CachedAttentionLaunch& args, CUstream_st* stream) {
  const auto tiles = static_cast<unsigned>(args.tiles);
  const auto heads = static_cast<unsigned>(args.heads);
  const auto rows = static_cast<unsigned>(args.batch);
  const CudaResult attended =
      Launch(AttendTile, {dim3(tiles, heads, rows), kThreads}, stream, args);
  if (attended.code != 0) return attended;
  return Launch(JoinTiles, {dim3(heads, rows), kThreads}, stream, args);
}

}  // namespace horizon
