#include <cstdint>
#include <limits>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/arguments/values.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tensor_core_gemm_launch.h"

namespace horizon {
namespace {

constexpr int64_t kTermsAtOnce = 16;
constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();

std::string Describe(const Gemm& gemm) {
  return StrCat("multiply matrices of ", gemm.m, " x ", gemm.k, " and ", gemm.k, " x ", gemm.n,
                " on the tensor cores of the CUDA device");
}

absl::Status Refuse(const Gemm& gemm, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("cannot ", Describe(gemm), ": ", why));
}

absl::Status CheckArguments(const KernelContext& context, const Gemm& gemm) {
  CudaArguments arguments(context, "the matrix multiply");
  RETURN_IF_ERROR(arguments.Array("c", gemm.c.data()).Bf16OrNull("bias", gemm.bias).status());
  if (gemm.k > 0) RETURN_IF_ERROR(arguments.Bf16("a", gemm.a).Bf16("b", gemm.b).status());
  if (gemm.initial != nullptr && gemm.initial.type() != gemm.c.type()) {
    return Refuse(gemm, "initial and c are of different types");
  }
  const bool a_transposed = gemm.form == GemmForm::kWeightGradient;
  const bool b_transposed = gemm.form == GemmForm::kForward;
  if (gemm.c_stride < gemm.n || gemm.a_stride < (a_transposed ? gemm.m : gemm.k) ||
      gemm.b_stride < (b_transposed ? gemm.k : gemm.n)) {
    return Refuse(gemm, "a row overlaps the next");
  }
  if (gemm.k_tile % kTermsAtOnce != 0) {
    return Refuse(gemm, StrCat("k_tile is ", gemm.k_tile, ", no multiple of ", kTermsAtOnce));
  }
  if (TensorCoreGemmBlocks(gemm.m, gemm.n) > kMostBlocks) return Refuse(gemm, "too many tiles");
  return absl::OkStatus();
}

}  // namespace

absl::Status TensorCoreGemmCuda(const KernelContext& context, const Gemm& gemm) {
  RETURN_IF_ERROR(CudaArguments(context, "the matrix multiply")
                      .Size("m", gemm.m)
                      .Size("n", gemm.n)
                      .Size("k", gemm.k)
                      .status());
  if (gemm.m == 0 || gemm.n == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckArguments(context, gemm));
  return RunOnCuda(Describe(gemm), [&] {
    return LaunchTensorCoreGemm({.m = gemm.m,
                                 .n = gemm.n,
                                 .k = gemm.k,
                                 .a_transposed = gemm.form == GemmForm::kWeightGradient,
                                 .b_transposed = gemm.form == GemmForm::kForward,
                                 .a = gemm.k > 0 ? gemm.a.bf16() : nullptr,
                                 .a_stride = gemm.a_stride,
                                 .b = gemm.k > 0 ? gemm.b.bf16() : nullptr,
                                 .b_stride = gemm.b_stride,
                                 .c = gemm.c.data(),
                                 .c_stride = gemm.c_stride,
                                 .initial = gemm.initial.data(),
                                 .bias = gemm.bias == nullptr ? nullptr : gemm.bias.bf16(),
                                 .c_is_bf16 = gemm.c.type() == ValueType::kBf16},
                                context.stream);
  });
}

}  // namespace horizon
