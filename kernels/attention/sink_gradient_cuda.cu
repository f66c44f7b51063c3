#include "kernels/attention/sink_gradient_launch.h"
#include "kernels/cuda/cuda_column_sums.cuh"

namespace horizon {
namespace {

// The heads are the columns.
struct SinkTerms {
  const uint16_t* sinks;
  const float* log_sum_exp;
  const float* output_dot;
  int64_t heads;
  bool whole;

  __device__ __forceinline__ ThreadElements<float> operator()(int64_t row, int64_t column,
                                                              int64_t count) const {
    const ThreadElements<float> sink = LoadAsFloat(sinks + column, count, whole);
    const int64_t entry = row * heads + column;
    const ThreadElements<float> shift = LoadElements(log_sum_exp + entry, count, whole);
    ThreadElements<float> terms = LoadElements(output_dot + entry, count, whole);
#pragma unroll
    for (int j = 0; j < kElementsPerThread; ++j) {
      terms[j] = -__fmul_rn(expf(sink[j] - shift[j]), terms[j]);
    }
    return terms;
  }
};

}  // namespace

CudaResult LaunchSinkGradient(const SinkGradientLaunch& args, CUstream_st* stream) {
  const bool whole = args.heads % kElementsPerThread == 0 && IsAlignedForVectors(args.sinks) &&
                     IsAlignedForVectors(args.log_sum_exp) && IsAlignedForVectors(args.output_dot);
  const SinkTerms terms{args.sinks, args.log_sum_exp, args.output_dot, args.heads, whole};
  return LaunchColumnSums(args.tokens, args.heads, terms, args.gradient, args.scratch,
                          args.scratch_bytes, stream);
}

}  // namespace horizon
