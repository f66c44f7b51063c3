#include <algorithm>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/gemm/cublas_gemm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_launch.h"

namespace horizon {
namespace {

// The rows or columns that the algorithm of a multiply cut at tiles is chosen for: enough of them
// to keep a device busy, whatever the cut.
constexpr int64_t kLeastChosenFor = 4096;
int64_t ChosenFor(int64_t tile) {
  return tile > 0 ? (kLeastChosenFor + tile - 1) / tile * tile : 0;
}

std::string Describe(const Gemm& gemm) {
  return StrCat("multiply matrices of ", gemm.m, " x ", gemm.k, " and ", gemm.k, " x ", gemm.n,
                " on the CUDA device");
}

absl::Status StoreInitialPlusBias(const KernelContext& context, const Gemm& gemm) {
  const bool one_type = (gemm.initial == nullptr || gemm.initial.type() == gemm.c.type()) &&
                        (gemm.bias == nullptr || gemm.bias.type() == gemm.c.type());
  if (gemm.c == nullptr || !one_type || gemm.c_stride < gemm.n || context.stream == nullptr) {
    return absl::InvalidArgumentError(StrCat(
        "cannot ", Describe(gemm), ": no stream, no result, or bias and residual of other types"));
  }
  return RunOnCuda(Describe(gemm), [&] {
    return LaunchInitialPlusBias({.m = gemm.m,
                                  .n = gemm.n,
                                  .stride = gemm.c_stride,
                                  .initial = gemm.initial.data(),
                                  .bias = gemm.bias.data(),
                                  .c = gemm.c.data(),
                                  .is_bf16 = gemm.c.type() == ValueType::kBf16},
                                 context.stream);
  });
}

DeviceGemm DeviceGemmOf(const Gemm& gemm) {
  return {
      .m = gemm.m,
      .n = gemm.n,
      .k = gemm.k,
      .a_transposed = gemm.form == GemmForm::kWeightGradient ? Transposed::kYes : Transposed::kNo,
      .b_transposed = gemm.form == GemmForm::kForward ? Transposed::kYes : Transposed::kNo,
      .a = gemm.a,
      .a_stride = gemm.a_stride,
      .b = gemm.b,
      .b_stride = gemm.b_stride,
      .c = gemm.c,
      .c_stride = gemm.c_stride,
      .initial = gemm.initial,
      .bias = gemm.bias,
      .chosen_for_m = ChosenFor(gemm.m_tile),
      .chosen_for_n = ChosenFor(gemm.n_tile)};
}

// The multiply of terms begin .. begin + k of the sum.
DeviceGemm PartOf(const Gemm& gemm, int64_t begin, int64_t k) {
  DeviceGemm part = DeviceGemmOf(gemm);
  part.k = k;
  part.a = gemm.a.From(part.a_transposed == Transposed::kYes ? begin * gemm.a_stride : begin);
  part.b = gemm.b.From(part.b_transposed == Transposed::kYes ? begin : begin * gemm.b_stride);
  if (begin > 0) {
    part.initial = gemm.c;
    part.bias = nullptr;
  }
  return part;
}

}  // namespace

absl::Status GemmCuda(const KernelContext& context, const Gemm& gemm) {
  if (gemm.m == 0 || gemm.n == 0) return absl::OkStatus();
  if (gemm.k == 0) return StoreInitialPlusBias(context, gemm);
  if (IsTooLarge(gemm.m, gemm.n) || IsTooLarge(gemm.m, gemm.k) || IsTooLarge(gemm.k, gemm.n)) {
    return absl::InvalidArgumentError(
        StrCat("cannot ", Describe(gemm), ": a matrix has more than 2^31 elements"));
  }
  const int64_t k_tile = gemm.k_tile > 0 ? gemm.k_tile : gemm.k;
  if (k_tile < gemm.k && gemm.c.type() != ValueType::kFp32) {
    return absl::InvalidArgumentError(
        StrCat("cannot ", Describe(gemm), ": a sum taken in pieces needs a result of fp32"));
  }
  for (int64_t k = 0; k < gemm.k; k += k_tile) {
    RETURN_IF_ERROR(MultiplyOnDevice(context, PartOf(gemm, k, std::min(k_tile, gemm.k - k))));
  }
  return absl::OkStatus();
}

// A rounded gradient always comes from a multiply of one shape and type, and so of one algorithm,
// whether it is stored as bf16 or added to a sum here. So both have equal bits.
absl::Status WeightGradientCuda(const KernelContext& context, const WeightGradient& args) {
  const GradientOut& gradient = args.gradient;
  Gemm gemm = {.form = GemmForm::kWeightGradient,
               .m = args.m,
               .n = args.n,
               .k = args.k,
               .a = args.output_gradient,
               .a_stride = args.output_stride,
               .b = args.input,
               .b_stride = args.input_stride,
               .c_stride = args.n};
  if (args.m == 0 || args.n == 0) return absl::OkStatus();
  if (gradient.sum != nullptr && !gradient.rounded) {
    gemm.c = gradient.sum;
    if (gradient.add) gemm.initial = gradient.sum;
    return GemmCuda(context, gemm);
  }
  const auto multiply = [&] {
    if (gemm.k == 0) return StoreInitialPlusBias(context, gemm);
    DeviceGemm part = DeviceGemmOf(gemm);
    part.chosen_for_m = args.m;
    return MultiplyOnDevice(context, part);
  };
  if (gradient.sum == nullptr) {
    gemm.c = gradient.bf16;
    return multiply();
  }
  const std::string what = Describe(gemm);
  RETURN_IF_ERROR(CudaArguments(context, "the gradient of weights")
                      .Workspace(WeightGradientWorkspaceBytes(args))
                      .status());
  if (reinterpret_cast<uintptr_t>(gradient.sum) % 16 != 0 || args.n % 8 != 0) {
    return absl::InvalidArgumentError(
        StrCat("cannot ", what, ": a row of the gradient begins at no multiple of 16 bytes"));
  }
  gemm.c = reinterpret_cast<uint16_t*>(context.device_workspace.data());
  const int64_t step = RoundedRowsAtOnce(args.m, args.n);
  for (int64_t row = 0; row < args.m; row += step) {
    gemm.m = std::min(step, args.m - row);
    gemm.a = args.output_gradient.From(row);
    RETURN_IF_ERROR(multiply());
    RETURN_IF_ERROR(RunOnCuda(what, [&] {
      return LaunchSumRoundedGradient({.count = gemm.m * args.n,
                                       .gradient = gemm.c.bf16(),
                                       .sum = gradient.sum + row * args.n,
                                       .add = gradient.add},
                                      context.stream);
    }));
  }
  return absl::OkStatus();
}

}  // namespace horizon
