// A stable counting sort in three kernels. The first counts, in tiles of tokens, the pairs of each
// expert; the second adds the counts up over the tiles; the third adds them up over the experts and
// knows then where each pair belongs: behind the pairs of lower experts, those of its expert in
// earlier tiles, and those of its expert in its tile with a lower token.
//
// A tile is held as one bit for each expert and token: whether the token has chosen the expert. So
// it does not matter in which order threads set the bits, and the pairs before a pair are those
// below its bit.
#include <algorithm>

#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/cuda/cuda_thread_elements.cuh"
#include "kernels/experts/dispatch_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
constexpr int kWordTokens = 32;
constexpr int kTileWords = kDispatchTileTokens / kWordTokens;
static_assert(kDispatchTileTokens % kWordTokens == 0);

// Which tokens of a tile have chosen each expert.
constexpr int kBitWords = kMostDispatchExperts * kTileWords;
using TileBits = Shared<uint32_t, kBitWords>;

// The pairs of the thread block's tile.
struct TilePairs {
  int first;
  int end;
};
__device__ __forceinline__ TilePairs PairsOfTile(const DispatchLaunch& args) {
  const int first_token = static_cast<int>(blockIdx.x) * kDispatchTileTokens;
  const int end_token = min(first_token + kDispatchTileTokens, args.tokens);
  return {first_token * args.per_token, end_token * args.per_token};
}

// The token of a pair, counted from the begin of the tile.
__device__ __forceinline__ int TokenInTile(const DispatchLaunch& args, int pair) {
  return pair / args.per_token % kDispatchTileTokens;
}

// Sets the bits of the thread block's tile. There are barriers in it, before the bits and behind.
__device__ __forceinline__ void SetTileBits(const DispatchLaunch& args, TileBits& bits) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < args.experts * kTileWords; i += kThreads) bits[i] = 0u;
  __syncthreads();
  const TilePairs pairs = PairsOfTile(args);
  for (int pair = pairs.first + thread; pair < pairs.end; pair += kThreads) {
    const int token = TokenInTile(args, pair);
    atomicOr(&bits[args.chosen[pair] * kTileWords + token / kWordTokens],
             1u << token % kWordTokens);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) CountTiles(DispatchLaunch args) {
  __shared__ Shared<uint32_t, kBitWords> bits;
  SetTileBits(args, bits);
  for (int expert = static_cast<int>(threadIdx.x); expert < args.experts; expert += kThreads) {
    int count = 0;
#pragma unroll
    for (int word = 0; word < kTileWords; ++word) {
      const uint32_t tokens = bits[expert * kTileWords + word];
      count += __popc(tokens);
    }
    args.of_tiles[int64_t{blockIdx.x} * args.experts + expert] = count;
  }
}

// A thread handles one expert, eight tiles at a time.
constexpr int kSumThreads = 64;
__global__ void __launch_bounds__(kSumThreads) AddTiles(DispatchLaunch args, int tiles) {
  constexpr int kAtOnce = 8;
  const int expert = static_cast<int>(blockIdx.x) * kSumThreads + static_cast<int>(threadIdx.x);
  if (expert >= args.experts) return;
  int32_t* of_tiles = args.of_tiles + expert;
  int before = 0;
  for (int first = 0; first < tiles; first += kAtOnce) {
    int counts[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      counts[i] = first + i < tiles ? of_tiles[int64_t{first + i} * args.experts] : 0;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i < tiles) of_tiles[int64_t{first + i} * args.experts] = before;
      before += counts[i];
    }
  }
  args.totals[expert] = before;
}

// Where the rows of each expert begin, and in begins[experts] where they end. The first warp
// computes it; the others need a barrier before they read it.
using Begins = Shared<int, kMostDispatchExperts + 1>;
__device__ __forceinline__ void SumTotals(const DispatchLaunch& args, Begins& begins) {
  constexpr int kPerLane = kMostDispatchExperts / static_cast<int>(kWarpThreads);
  if (threadIdx.x >= kWarpThreads) return;
  const int warp_lane = static_cast<int>(threadIdx.x);
  const int first = warp_lane * kPerLane;
  int sum = 0;
  for (int i = 0; i < kPerLane && first + i < args.experts; ++i) sum += args.totals[first + i];
  int before = sum;
#pragma unroll
  for (int distance = 1; distance < static_cast<int>(kWarpThreads); distance *= 2) {
    const int lower = __shfl_up_sync(kWholeWarp, before, static_cast<unsigned>(distance));
    if (warp_lane >= distance) before += lower;
  }
  before -= sum;
  for (int i = 0; i < kPerLane && first + i < args.experts; ++i) {
    begins[first + i] = before;
    before += args.totals[first + i];
    if (first + i + 1 == args.experts) begins[args.experts] = before;
  }
}

__global__ void __launch_bounds__(kThreads) SortTiles(DispatchLaunch args) {
  __shared__ Shared<uint32_t, kBitWords> bits;
  __shared__ Shared<int, kMostDispatchExperts + 1> begins;
  SumTotals(args, begins);
  SetTileBits(args, bits);
  const int thread = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0) {
    for (int i = thread; i <= args.experts; i += kThreads) args.begins[i] = begins[i];
  }
  const TilePairs pairs = PairsOfTile(args);
  for (int pair = pairs.first + thread; pair < pairs.end; pair += kThreads) {
    const int expert = args.chosen[pair];
    const int token = TokenInTile(args, pair);
    int row = begins[expert];
    row += args.of_tiles[int64_t{blockIdx.x} * args.experts + expert];
    for (int word = 0; word < token / kWordTokens; ++word) {
      const uint32_t tokens = bits[expert * kTileWords + word];
      row += __popc(tokens);
    }
    const uint32_t tokens = bits[expert * kTileWords + token / kWordTokens];
    row += __popc(tokens & ((1u << token % kWordTokens) - 1u));
    args.pair_rows[pair] = row;
    args.row_pairs[row] = pair;
    args.row_tokens[row] = pair / args.per_token;
  }
}

// A thread handles eight columns of a token at a time.
__global__ void __launch_bounds__(kThreads) AddRows(CombinePairsLaunch args, bool whole) {
  const int64_t groups = args.width / kElementsPerThread;
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x; item < args.tokens * groups;
       item += stride) {
    const int64_t token = item / groups;
    const int64_t column = item % groups * kElementsPerThread;
    const int32_t* chosen = args.chosen + token * args.per_token;
    const int32_t* pair_rows = args.pair_rows + token * args.per_token;
    float* to = args.sum + token * args.width + column;
    ThreadElements<float> sum = {};
    if (args.add) sum = LoadElements(to, kElementsPerThread, whole);
    for (int64_t i = 0; i < args.per_token; ++i) {
      const int64_t pair = args.descending ? args.per_token - 1 - i : i;
      const int64_t expert = chosen[pair];
      if (expert < args.first_expert || expert >= args.end_expert) continue;
      const uint16_t* row = args.rows + pair_rows[pair] * args.width + column;
      const ThreadElements<float> values = LoadAsFloat(row, kElementsPerThread, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fadd_rn(sum[j], values[j]);
    }
    StoreElements(to, sum, kElementsPerThread, whole);
  }
}

}  // namespace

CudaResult LaunchDispatch(const DispatchLaunch& args, CUstream_st* stream) {
  const int tiles = static_cast<int>(DispatchTiles(args.tokens));
  if (tiles > 0) {
    const CudaResult result =
        Launch(CountTiles, LaunchShape{static_cast<unsigned>(tiles), kThreads}, stream, args);
    if (result.code != 0) return result;
  }
  const unsigned experts = ThreadBlocksFor(args.experts, kSumThreads);
  const CudaResult result =
      Launch(AddTiles, LaunchShape{experts, kSumThreads}, stream, args, tiles);
  if (result.code != 0) return result;
  // One without tokens, which stores that there are no rows.
  return Launch(SortTiles, LaunchShape{static_cast<unsigned>(std::max(1, tiles)), kThreads}, stream,
                args);
}

CudaResult LaunchCombinePairs(const CombinePairsLaunch& args, CUstream_st* stream) {
  const bool whole = IsAlignedForVectors(args.rows) && IsAlignedForVectors(args.sum);
  const unsigned blocks =
      ThreadBlocksFor(args.tokens * (args.width / kElementsPerThread), kThreads);
  return Launch(AddRows, LaunchShape{blocks, kThreads}, stream, args, whole);
}

}  // namespace horizon
