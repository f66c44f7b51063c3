#include "kernels/attention/sink_gradient_launch.h"
#include "kernels/cuda/cuda_column_sums.cuh"

namespace horizon {
namespace {

// The heads are the columns. Elements are loaded one by one: the sinks, log-sum-exps and dot
// products of eight heads as vectors, of two tokens at once, are more registers than there are.
struct SinkTerms {
  const uint16_t* sinks;
  const float* log_sum_exp;
  const float* output_dot;
  int64_t heads;

  __device__ __forceinline__ ThreadElements<float> operator()(int64_t row, int64_t column,
                                                              int64_t count) const {
    const int64_t entry = row * heads + column;
    ThreadElements<float> terms = {};
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      if (j >= count) break;
      const float probability = expf(FloatOf(sinks[column + j]) - log_sum_exp[entry + j]);
      terms[j] = -__fmul_rn(probability, output_dot[entry + j]);
    }
    return terms;
  }
};

}  // namespace

CudaResult LaunchSinkGradient(const SinkGradientLaunch& args, CUstream_st* stream) {
  const SinkTerms terms{args.sinks, args.log_sum_exp, args.output_dot, args.heads};
  return LaunchColumnSums(args.tokens, args.heads, terms, args.gradient, args.scratch,
                          args.scratch_bytes, stream);
}

}  // namespace horizon
