#include "kernels/cuda/cuda_column_sums.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/norm/rms_norm_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
// Up to this width a warp has a row (the norms of heads), else a block has.
constexpr int64_t kWarpWidth = 1024;

// Over the threads of a row.
template <int kRowThreads>
__device__ __forceinline__ float RowSum(float value) {
  if constexpr (kRowThreads == kWarpThreads) {
    return WarpSum(value);
  } else {
    return BlockSum<kRowThreads>(value);
  }
}

// body(row) for the rows of the calling thread's warp or block.
template <int kRowThreads, typename Body>
__device__ __forceinline__ void ForEachRow(int64_t rows, const Body& body) {
  constexpr int kRowsOfBlock = kThreads / kRowThreads;
  const int64_t first = int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x / kRowThreads;
  for (int64_t row = first; row < rows; row += int64_t{gridDim.x} * kRowsOfBlock) body(row);
}
// body(column) for every eighth column that is the calling thread's.
template <int kRowThreads, typename Body>
__device__ __forceinline__ void ForEachEight(int64_t width, const Body& body) {
  for (int64_t i = threadIdx.x % kRowThreads * 8; i < width; i += kRowThreads * 8) body(i);
}

// (weight_offset + weight) of eight columns.
template <typename Rows>
__device__ __forceinline__ Eight<float> LoadWeights(const Rows& norm, int64_t i, bool whole) {
  Eight<float> weights = LoadNumbers(norm.weight + i, norm.width - i, whole);
#pragma unroll
  for (int j = 0; j < 8; ++j) weights[j] = __fadd_rn(norm.added_to_weights, weights[j]);
  return weights;
}

template <int kRowThreads, typename Rows>
__device__ __forceinline__ void ScaleRow(const Rows& norm, int64_t row, float inverse, bool whole) {
  const uint16_t* x = norm.x + row * norm.width;
  uint16_t* y = norm.y + row * norm.width;
  ForEachEight<kRowThreads>(norm.width, [&](int64_t i) {
    const int64_t count = norm.width - i;
    Eight<float> values = LoadNumbers(x + i, count, whole);
    const Eight<float> weights = LoadWeights(norm, i, whole);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      values[j] = __fmul_rn(__fmul_rn(values[j], inverse), weights[j]);
    }
    StoreNumbers(y + i, values, count, whole);
  });
}

template <int kRowThreads>
__global__ void __launch_bounds__(kThreads) NormRows(RmsNormRows norm, bool whole) {
  ForEachRow<kRowThreads>(norm.rows, [&](int64_t row) {
    const uint16_t* x = norm.x + row * norm.width;
    float squares = 0.0f;
    ForEachEight<kRowThreads>(norm.width, [&](int64_t i) {
      const Eight<float> values = LoadNumbers(x + i, norm.width - i, whole);
#pragma unroll
      for (int j = 0; j < 8; ++j) squares = __fmaf_rn(values[j], values[j], squares);
    });
    const float mean = __fdiv_rn(RowSum<kRowThreads>(squares), static_cast<float>(norm.width));
    const float inverse = __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(mean, norm.epsilon)));
    ScaleRow<kRowThreads>(norm, row, inverse, whole);
    if (norm.inverse_rms != nullptr && threadIdx.x % kRowThreads == 0) {
      norm.inverse_rms[row] = inverse;
    }
  });
}

template <int kRowThreads>
__global__ void __launch_bounds__(kThreads) NormRowsAgain(RmsNormScaled norm, bool whole) {
  ForEachRow<kRowThreads>(norm.rows, [&](int64_t row) {
    ScaleRow<kRowThreads>(norm, row, norm.inverse_rms[row], whole);
  });
}

// The row's sum comes first, so that the gradient of x may then take the place of the others: each
// element is read again and written by one thread.
template <int kRowThreads>
__global__ void __launch_bounds__(kThreads) NormRowsBackward(RmsNormGradients norm, bool whole) {
  ForEachRow<kRowThreads>(norm.rows, [&](int64_t row) {
    const int64_t begin = row * norm.width;
    const float inverse = norm.inverse_rms[row];
    float products = 0.0f;
    ForEachEight<kRowThreads>(norm.width, [&](int64_t i) {
      const int64_t count = norm.width - i;
      const Eight<float> gradients = LoadNumbers(norm.y_gradient + begin + i, count, whole);
      const Eight<float> weights = LoadWeights(norm, i, whole);
      const Eight<float> values = LoadNumbers(norm.x + begin + i, count, whole);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        products =
            __fmaf_rn(__fmul_rn(gradients[j], weights[j]), __fmul_rn(values[j], inverse), products);
      }
    });
    const float mean = __fdiv_rn(RowSum<kRowThreads>(products), static_cast<float>(norm.width));
    ForEachEight<kRowThreads>(norm.width, [&](int64_t i) {
      const int64_t count = norm.width - i;
      Eight<float> out = LoadNumbers(norm.y_gradient + begin + i, count, whole);
      const Eight<float> weights = LoadWeights(norm, i, whole);
      const Eight<float> values = LoadNumbers(norm.x + begin + i, count, whole);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float normal = __fmul_rn(values[j], inverse);
        const float centred = __fmaf_rn(-normal, mean, __fmul_rn(out[j], weights[j]));
        out[j] = __fmul_rn(inverse, centred);
      }
      if (norm.residual_gradient != nullptr) {
        const Eight<float> residuals =
            LoadNumbers(norm.residual_gradient + begin + i, count, whole);
#pragma unroll
        for (int j = 0; j < 8; ++j) out[j] = __fadd_rn(residuals[j], out[j]);
      }
      StoreNumbers(norm.x_gradient + begin + i, out, count, whole);
    });
  });
}

// A row's part of the weight's gradient.
struct WeightTerms {
  const uint16_t* x;
  const uint16_t* y_gradient;
  const float* inverse_rms;
  int64_t width;
  bool whole;

  __device__ __forceinline__ Eight<float> operator()(int64_t row, int64_t column,
                                                     int64_t count) const {
    const int64_t at = row * width + column;
    const float inverse = inverse_rms[row];
    Eight<float> terms = LoadNumbers(y_gradient + at, count, whole);
    const Eight<float> values = LoadNumbers(x + at, count, whole);
#pragma unroll
    for (int j = 0; j < 8; ++j) terms[j] = __fmul_rn(terms[j], __fmul_rn(values[j], inverse));
    return terms;
  }
};

// Narrow or wide, whichever the rows are.
template <typename Rows>
CudaResult LaunchRows(void (*narrow)(Rows, bool), void (*wide)(Rows, bool), const Rows& rows,
                      bool whole, CUstream_st* stream) {
  const bool is_narrow = rows.width <= kWarpWidth;
  const unsigned blocks = BlocksFor(rows.rows, is_narrow ? kThreads / kWarpThreads : 1);
  return Launch(is_narrow ? narrow : wide, LaunchShape{blocks, kThreads}, stream, rows, whole);
}

template <typename Rows>
bool IsWhole(const Rows& norm) {
  return norm.width % 8 == 0 && IsEightAligned(norm.x) && IsEightAligned(norm.weight) &&
         IsEightAligned(norm.y);
}

}  // namespace

CudaResult LaunchRmsNormForward(const RmsNormRows& norm, CUstream_st* stream) {
  return LaunchRows(NormRows<kWarpThreads>, NormRows<kThreads>, norm, IsWhole(norm), stream);
}

CudaResult LaunchRmsNormRecompute(const RmsNormScaled& norm, CUstream_st* stream) {
  return LaunchRows(NormRowsAgain<kWarpThreads>, NormRowsAgain<kThreads>, norm, IsWhole(norm),
                    stream);
}

// The weight's gradient first: x_gradient may lie on y_gradient.
CudaResult LaunchRmsNormBackward(const RmsNormGradients& norm, CUstream_st* stream) {
  const bool whole = norm.width % 8 == 0 && IsEightAligned(norm.x) && IsEightAligned(norm.weight) &&
                     IsEightAligned(norm.y_gradient) && IsEightAligned(norm.residual_gradient) &&
                     IsEightAligned(norm.x_gradient);
  if (norm.weight_gradient.wanted()) {
    const WeightTerms terms{norm.x, norm.y_gradient, norm.inverse_rms, norm.width, whole};
    const CudaResult result = LaunchColumnSums(norm.rows, norm.width, terms, norm.weight_gradient,
                                               norm.scratch, norm.scratch_bytes, stream);
    if (result.code != 0) return result;
  }
  if (norm.rows == 0 || norm.x_gradient == nullptr) return {};
  return LaunchRows(NormRowsBackward<kWarpThreads>, NormRowsBackward<kThreads>, norm, whole,
                    stream);
}

}  // namespace horizon
