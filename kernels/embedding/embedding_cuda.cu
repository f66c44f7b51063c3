#include "kernels/cuda/cuda_gradient.cuh"
#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/embedding/embedding_launch.h"

namespace horizon {
namespace {

constexpr int kForwardThreads = 256;
constexpr int kTokensOfBlock = kForwardThreads / kWarpThreads;
constexpr int kBackwardThreads = 128;
constexpr int64_t kColumnsOfBlock = kBackwardThreads * 8;

// A warp has a token.
__global__ void __launch_bounds__(kForwardThreads) CopyRows(EmbedRows embed, bool whole) {
  const int64_t lane = threadIdx.x % kWarpThreads;
  const int64_t stride = int64_t{gridDim.x} * kTokensOfBlock;
  for (int64_t token = int64_t{blockIdx.x} * kTokensOfBlock + threadIdx.x / kWarpThreads;
       token < embed.tokens; token += stride) {
    const int64_t row = embed.records[token].id - embed.first_row;
    const bool is_here = row >= 0 && row < embed.rows;
    if (!is_here && embed.first_row != 0) continue;
    uint16_t* output = embed.output + token * embed.hidden;
    for (int64_t i = lane * 8; i < embed.hidden; i += kWarpThreads * 8) {
      const int64_t count = embed.hidden - i;
      Eight<uint16_t> values = {};
      if (is_here) {
        values = LoadEight(embed.table + row * embed.hidden + i, count, whole);
        if (embed.scale != 1.0f) {
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            values[j] = Bf16Of(__fmul_rn(embed.scale, FloatOf(values[j])));
          }
        }
      }
      StoreEight(output + i, values, count, whole);
    }
  }
}

// A block has an id, if the token is its first, and some columns: it walks from one token of the id
// to the next. The next one's place is asked for together with this one's row.
__global__ void __launch_bounds__(kBackwardThreads) SumRows(EmbedGradients embed, bool whole) {
  const int64_t column = int64_t{blockIdx.y} * kColumnsOfBlock + threadIdx.x * 8;
  if (column >= embed.hidden) return;
  const int64_t count = embed.hidden - column;
  for (int64_t token = blockIdx.x; token < embed.tokens; token += gridDim.x) {
    const int64_t row = embed.records[token].id - embed.first_row;
    if (embed.records[token].is_first == 0 || row < 0 || row >= embed.rows) continue;
    const uint16_t* gradients = embed.output_gradient + column;
    int64_t next = embed.records[token].next_same;
    Eight<float> sum = LoadNumbers(gradients + token * embed.hidden, count, whole);
    while (next >= 0) {
      const int64_t after = embed.records[next].next_same;
      const Eight<float> values = LoadNumbers(gradients + next * embed.hidden, count, whole);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] = __fadd_rn(sum[j], values[j]);
      next = after;
    }
    if (embed.scale != 1.0f) {
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] = __fmul_rn(sum[j], embed.scale);
    }
    StoreGradientEight(embed.gradient, row * embed.hidden + column, sum, count, whole);
  }
}

}  // namespace

CudaResult LaunchEmbedForward(const EmbedRows& embed, CUstream_st* stream) {
  const bool whole =
      embed.hidden % 8 == 0 && IsEightAligned(embed.table) && IsEightAligned(embed.output);
  const unsigned blocks = BlocksFor(embed.tokens, kTokensOfBlock);
  return Launch(CopyRows, LaunchShape{blocks, kForwardThreads}, stream, embed, whole);
}

CudaResult LaunchEmbedBackward(const EmbedGradients& embed, CUstream_st* stream) {
  const GradientOut& gradient = embed.gradient;
  const auto count = static_cast<size_t>(embed.rows * embed.hidden);
  cudaError_t cleared = cudaSuccess;
  if (gradient.leaving != nullptr) {
    cleared = cudaMemsetAsync(gradient.leaving, 0, count * sizeof(uint16_t), stream);
  } else if (!gradient.add) {
    cleared = cudaMemsetAsync(gradient.sum, 0, count * sizeof(float), stream);
  }
  if (cleared != cudaSuccess || embed.tokens == 0) return ToResult(cleared);
  const bool whole =
      embed.hidden % 8 == 0 && IsEightAligned(embed.output_gradient) && IsEightAligned(gradient);
  const dim3 grid(BlocksFor(embed.tokens, 1),
                  static_cast<unsigned>((embed.hidden + kColumnsOfBlock - 1) / kColumnsOfBlock));
  return Launch(SumRows, LaunchShape{grid, kBackwardThreads}, stream, embed, whole);
}

}  // namespace horizon
