#include "kernels/cuda/cuda_column_sums.cuh"
#include "kernels/gemm/bias_gradient_launch.h"

namespace horizon {
namespace {

struct BiasTerms {
  const uint16_t* output_gradient;
  int64_t width;
  bool whole;

  __device__ __forceinline__ ThreadElements<float> operator()(int64_t row, int64_t column,
                                                              int64_t count) const {
    return LoadAsFloat(output_gradient + row * width + column, count, whole);
  }
};

}  // namespace

CudaResult LaunchBiasGradient(const BiasGradientLaunch& columns, CUstream_st* stream) {
  const bool whole =
      columns.width % kElementsPerThread == 0 && IsAlignedForVectors(columns.output_gradient);
  const BiasTerms terms{columns.output_gradient, columns.width, whole};
  return LaunchColumnSums(columns.tokens, columns.width, terms, columns.gradient, columns.scratch,
                          columns.scratch_bytes, stream);
}

}  // namespace horizon
