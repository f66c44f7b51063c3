#include "kernels/cuda/cuda_column_sums.cuh"
#include "kernels/cuda/cuda_reduce.cuh"
#include "kernels/norm/rms_norm_launch.h"

namespace horizon {
namespace {

constexpr int kThreads = 256;
// Up to this width a warp handles a row (the norms of heads), else a thread block does.
constexpr int64_t kWarpWidth = 1024;

// The sum over the threads of a row.
template <int kRowThreads>
__device__ __forceinline__ float RowSum(float value) {
  if constexpr (kRowThreads == kWarpThreads) {
    return WarpSum(value);
  } else {
    return BlockSum<kRowThreads>(value);
  }
}

// Calls body(row) for the rows of the calling thread's warp or thread block.
template <int kRowThreads, typename Body>
__device__ __forceinline__ void ForEachRow(int64_t rows, const Body& body) {
  constexpr int kRowsPerThreadBlock = kThreads / kRowThreads;
  const int64_t first = int64_t{blockIdx.x} * kRowsPerThreadBlock + threadIdx.x / kRowThreads;
  for (int64_t row = first; row < rows; row += int64_t{gridDim.x} * kRowsPerThreadBlock) body(row);
}
// Calls body(column) for the first column of each group of kElementsPerThread columns that the
// calling thread handles.
template <int kRowThreads, typename Body>
__device__ __forceinline__ void ForEachColumnGroup(int64_t width, const Body& body) {
  for (int64_t i = threadIdx.x % kRowThreads * kElementsPerThread; i < width;
       i += kRowThreads * kElementsPerThread)
    body(i);
}

// (weight_offset + weight) of the thread's columns.
template <typename Rows>
__device__ __forceinline__ ThreadElements<float> LoadWeights(const Rows& norm, int64_t i,
                                                             bool whole) {
  ThreadElements<float> weights = LoadAsFloat(norm.weight + i, norm.width - i, whole);
#pragma unroll
  for (int j = 0; j < kElementsPerThread; ++j)
    weights[j] = __fadd_rn(norm.added_to_weights, weights[j]);
  return weights;
}

template <int kRowThreads, typename Rows>
__device__ __forceinline__ void ScaleRow(const Rows& norm, int64_t row, float inverse, bool whole) {
  const uint16_t* x = norm.x + row * norm.width;
  uint16_t* y = norm.y + row * norm.width;
  ForEachColumnGroup<kRowThreads>(norm.width, [&](int64_t i) {
    const int64_t count = norm.width - i;
    ThreadElements<float> values = LoadAsFloat(x + i, count, whole);
    const ThreadElements<float> weights = LoadWeights(norm, i, whole);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      values[j] = __fmul_rn(__fmul_rn(values[j], inverse), weights[j]);
    }
    StoreFromFloat(y + i, values, count, whole);
  });
}

template <int kRowThreads>
__global__ void __launch_bounds__(kThreads) NormRowsForward(RmsNormForwardLaunch norm, bool whole) {
  ForEachRow<kRowThreads>(norm.rows, [&](int64_t row) {
    const uint16_t* x = norm.x + row * norm.width;
    float squares = 0.0f;
    ForEachColumnGroup<kRowThreads>(norm.width, [&](int64_t i) {
      const ThreadElements<float> values = LoadAsFloat(x + i, norm.width - i, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j)
        squares = __fmaf_rn(values[j], values[j], squares);
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
__global__ void __launch_bounds__(kThreads)
    NormRowsRecompute(RmsNormRecomputeLaunch norm, bool whole) {
  ForEachRow<kRowThreads>(norm.rows, [&](int64_t row) {
    ScaleRow<kRowThreads>(norm, row, norm.inverse_rms[row], whole);
  });
}

// The sum over the row comes first, so that the gradient of x may then overwrite the other
// gradients: one thread reads each element again and writes it.
template <int kRowThreads>
__global__ void __launch_bounds__(kThreads)
    NormRowsBackward(RmsNormBackwardLaunch norm, bool whole) {
  ForEachRow<kRowThreads>(norm.rows, [&](int64_t row) {
    const int64_t begin = row * norm.width;
    const float inverse = norm.inverse_rms[row];
    float products = 0.0f;
    ForEachColumnGroup<kRowThreads>(norm.width, [&](int64_t i) {
      const int64_t count = norm.width - i;
      const ThreadElements<float> gradients =
          LoadAsFloat(norm.y_gradient + begin + i, count, whole);
      const ThreadElements<float> weights = LoadWeights(norm, i, whole);
      const ThreadElements<float> values = LoadAsFloat(norm.x + begin + i, count, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) {
        products =
            __fmaf_rn(__fmul_rn(gradients[j], weights[j]), __fmul_rn(values[j], inverse), products);
      }
    });
    const float mean = __fdiv_rn(RowSum<kRowThreads>(products), static_cast<float>(norm.width));
    ForEachColumnGroup<kRowThreads>(norm.width, [&](int64_t i) {
      const int64_t count = norm.width - i;
      ThreadElements<float> out = LoadAsFloat(norm.y_gradient + begin + i, count, whole);
      const ThreadElements<float> weights = LoadWeights(norm, i, whole);
      const ThreadElements<float> values = LoadAsFloat(norm.x + begin + i, count, whole);
#pragma unroll
      for (int j = 0; j < kElementsPerThread; ++j) {
        const float normal = __fmul_rn(values[j], inverse);
        const float centred = __fmaf_rn(-normal, mean, __fmul_rn(out[j], weights[j]));
        out[j] = __fmul_rn(inverse, centred);
      }
      if (norm.residual_gradient != nullptr) {
        const ThreadElements<float> residuals =
            LoadAsFloat(norm.residual_gradient + begin + i, count, whole);
#pragma unroll
        for (int j = 0; j < kElementsPerThread; ++j) out[j] = __fadd_rn(residuals[j], out[j]);
      }
      StoreFromFloat(norm.x_gradient + begin + i, out, count, whole);
    });
  });
}

// The terms that a row adds to the gradient of the weight.
struct WeightTerms {
  const uint16_t* x;
  const uint16_t* y_gradient;
  const float* inverse_rms;
  int64_t width;
  bool whole;

  __device__ __forceinline__ ThreadElements<float> operator()(int64_t row, int64_t column,
                                                              int64_t count) const {
    const int64_t at = row * width + column;
    const float inverse = inverse_rms[row];
    ThreadElements<float> terms = LoadAsFloat(y_gradient + at, count, whole);
    const ThreadElements<float> values = LoadAsFloat(x + at, count, whole);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j)
      terms[j] = __fmul_rn(terms[j], __fmul_rn(values[j], inverse));
    return terms;
  }
};

// Launches the kernel for narrow or for wide rows.
template <typename Rows>
CudaResult LaunchRows(void (*narrow)(Rows, bool), void (*wide)(Rows, bool), const Rows& rows,
                      bool whole, CUstream_st* stream) {
  const bool is_narrow = rows.width <= kWarpWidth;
  const unsigned blocks = ThreadBlocksFor(rows.rows, is_narrow ? kThreads / kWarpThreads : 1);
  return Launch(is_narrow ? narrow : wide, LaunchShape{blocks, kThreads}, stream, rows, whole);
}

template <typename Rows>
bool IsWhole(const Rows& norm) {
  return norm.width % kElementsPerThread == 0 && IsAlignedForVectors(norm.x) &&
         IsAlignedForVectors(norm.weight) && IsAlignedForVectors(norm.y);
}

}  // namespace

CudaResult LaunchRmsNormForward(const RmsNormForwardLaunch& norm, CUstream_st* stream) {
  return LaunchRows(NormRowsForward<kWarpThreads>, NormRowsForward<kThreads>, norm, IsWhole(norm),
                    stream);
}

CudaResult LaunchRmsNormRecompute(const RmsNormRecomputeLaunch& norm, CUstream_st* stream) {
  return LaunchRows(NormRowsRecompute<kWarpThreads>, NormRowsRecompute<kThreads>, norm,
                    IsWhole(norm), stream);
}

// The gradient of the weight comes first, because x_gradient may overwrite y_gradient.
CudaResult LaunchRmsNormBackward(const RmsNormBackwardLaunch& norm, CUstream_st* stream) {
  const bool whole = norm.width % kElementsPerThread == 0 && IsAlignedForVectors(norm.x) &&
                     IsAlignedForVectors(norm.weight) && IsAlignedForVectors(norm.y_gradient) &&
                     IsAlignedForVectors(norm.residual_gradient) &&
                     IsAlignedForVectors(norm.x_gradient);
  if (norm.weight_gradient.is_needed()) {
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
