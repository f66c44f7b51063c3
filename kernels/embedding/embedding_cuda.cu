#include "kernels/cuda/cuda_gradient.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/embedding/embedding_launch.h"

namespace horizon {
namespace {

constexpr int kForwardThreads = 256;
constexpr int kTokensPerThreadBlock = kForwardThreads / kWarpThreads;
constexpr int kBackwardThreads = 128;
constexpr int64_t kColumnsPerThreadBlock = kBackwardThreads * kElementsPerThread;

// A warp handles one token at a time.
__global__ void __launch_bounds__(kForwardThreads) CopyRows(EmbedForwardLaunch embed, bool whole) {
  const int64_t warp_lane = threadIdx.x % kWarpThreads;
  const int64_t stride = int64_t{gridDim.x} * kTokensPerThreadBlock;
  for (int64_t token = int64_t{blockIdx.x} * kTokensPerThreadBlock + threadIdx.x / kWarpThreads;
       token < embed.tokens; token += stride) {
    const int64_t row = embed.records[token].id - embed.first_row;
    const bool is_here = row >= 0 && row < embed.rows;
    if (!is_here && embed.first_row != 0) continue;
    uint16_t* output = embed.output + token * embed.hidden;
    for (int64_t i = warp_lane * kElementsPerThread; i < embed.hidden;
         i += kWarpThreads * kElementsPerThread) {
      const int64_t count = embed.hidden - i;
      ThreadElements<uint16_t> values = {};
      if (is_here) {
        values = LoadElements(embed.table + row * embed.hidden + i, count, whole);
        if (embed.scale != 1.0f) {
#pragma unroll
          for (int j = 0; j < kElementsPerThread; ++j) {
            values[j] = Bf16Of(__fmul_rn(embed.scale, FloatOf(values[j])));
          }
        }
      }
      StoreElements(output + i, values, count, whole);
    }
  }
}

// A thread block handles some columns of one token at a time. If the token is the first one of its
// id, it follows the list of tokens with that id and sums their rows. The next element of the list
// is loaded together with the row of this one.
__global__ void __launch_bounds__(kBackwardThreads) SumRows(EmbedBackwardLaunch embed, bool whole) {
  const int64_t column =
      int64_t{blockIdx.y} * kColumnsPerThreadBlock + threadIdx.x * kElementsPerThread;
  if (column >= embed.hidden) return;
  const int64_t count = embed.hidden - column;
  for (int64_t token = blockIdx.x; token < embed.tokens; token += gridDim.x) {
    const int64_t row = embed.records[token].id - embed.first_row;
    if (embed.records[token].is_first == 0 || row < 0 || row >= embed.rows) continue;
    const uint16_t* gradients = embed.output_gradient + column;
    int64_t next = embed.records[token].next_same;
    ThreadElements<float> sum = LoadAsFloat(gradients + token * embed.hidden, count, whole);
    while (next >= 0) {
      const int64_t after = embed.records[next].next_same;
      const ThreadElements<float> values =
          LoadAsFloat(gradients + next * embed.hidden, count, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fadd_rn(sum[j], values[j]);
      next = after;
    }
    if (embed.scale != 1.0f) {
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) sum[j] = __fmul_rn(sum[j], embed.scale);
    }
    StoreGradientElements(embed.gradient, row * embed.hidden + column, sum, count, whole);
  }
}

}  // namespace

CudaResult LaunchEmbedForward(const EmbedForwardLaunch& embed, CUstream_st* stream) {
  const bool whole = embed.hidden % kElementsPerThread == 0 && IsAlignedForVectors(embed.table) &&
                     IsAlignedForVectors(embed.output);
  const unsigned blocks = ThreadBlocksFor(embed.tokens, kTokensPerThreadBlock);
  return Launch(CopyRows, LaunchShape{blocks, kForwardThreads}, stream, embed, whole);
}

CudaResult LaunchEmbedBackward(const EmbedBackwardLaunch& embed, CUstream_st* stream) {
  const GradientOut& gradient = embed.gradient;
  const auto count = static_cast<size_t>(embed.rows * embed.hidden);
  cudaError_t cleared = cudaSuccess;
  if (gradient.bf16 != nullptr) {
    cleared = cudaMemsetAsync(gradient.bf16, 0, count * sizeof(uint16_t), stream);
  } else if (!gradient.add) {
    cleared = cudaMemsetAsync(gradient.sum, 0, count * sizeof(float), stream);
  }
  if (cleared != cudaSuccess || embed.tokens == 0) return ToResult(cleared);
  const bool whole = embed.hidden % kElementsPerThread == 0 &&
                     IsAlignedForVectors(embed.output_gradient) && IsAlignedForVectors(gradient);
  const dim3 grid(
      ThreadBlocksFor(embed.tokens, 1),
      static_cast<unsigned>((embed.hidden + kColumnsPerThreadBlock - 1) / kColumnsPerThreadBlock));
  return Launch(SumRows, LaunchShape{grid, kBackwardThreads}, stream, embed, whole);
}

}  // namespace horizon
