#include <cstdint>
#include <limits>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_gemm_launch.h"

namespace horizon {
namespace {

// Rows are numbered with 32 bits, and so are those of a whole last tile. With these limits no
// number of tiles overflows.
constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max() / 2;
constexpr int64_t kMostExperts = int64_t{1} << 16;
constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();
constexpr int64_t kVectorElements = 8;

// The sizes that all multiplies of experts have.
CudaArguments& CheckRows(CudaArguments& arguments, int64_t experts, int64_t most_rows) {
  return arguments.InRange("experts", experts, 0, kMostExperts)
      .InRange("most_rows", most_rows, 0, kMostSize);
}

// A matrix whose rows of `columns` elements begin at multiples of 16 bytes.
CudaArguments& CheckMatrix(CudaArguments& arguments, std::string_view name, ConstValues matrix,
                           int64_t columns, int64_t stride) {
  return arguments.AlignedBf16(name, matrix)
      .InRange(StrCat("the stride of ", name), stride, columns, std::numeric_limits<int64_t>::max())
      .MultipleOf(StrCat("the stride of ", name), stride, kVectorElements);
}

// A gradient of which each expert's part begins at a multiple of 16 bytes.
CudaArguments& CheckAlignedGradient(CudaArguments& arguments, const GradientOut& gradient,
                                    int64_t expert_stride) {
  return arguments.Gradient("gradient", gradient)
      .Aligned("gradient", gradient.sum)
      .Aligned("gradient", gradient.bf16)
      .MultipleOf("gradient_expert_stride", expert_stride, kVectorElements);
}

}  // namespace

absl::Status ExpertGemmCuda(const KernelContext& context, const ExpertGemm& args) {
  CudaArguments arguments(context, "the multiply of experts");
  RETURN_IF_ERROR(CheckRows(arguments, args.experts, args.most_rows)
                      .InRange("n", args.n, 0, kMostSize)
                      .Size("k", args.k)
                      .MultipleOf("k", args.k, kVectorElements)
                      .status());
  if (args.experts == 0 || args.most_rows == 0 || args.n == 0) return absl::OkStatus();
  arguments.Array("begins", args.begins);
  CheckMatrix(arguments, "c", args.c, args.n, args.c_stride);
  if (args.k > 0) {
    const bool b_transposed = args.b_transposed == Transposed::kYes;
    CheckMatrix(arguments, "a", args.a, args.k, args.a_stride);
    CheckMatrix(arguments, "b", args.b, b_transposed ? args.k : args.n, args.b_stride)
        .MultipleOf("b_expert_stride", args.b_expert_stride, kVectorElements);
  }
  arguments.Bf16OrNull("bias", args.bias);
  if (args.bias != nullptr && args.row_scales != nullptr) {
    arguments.Array("scale_pairs", args.scale_pairs);
  }
  RETURN_IF_ERROR(arguments
                      .InRange("the number of tiles",
                               ExpertGemmBlocks(args.experts, args.most_rows, args.n), 0,
                               kMostBlocks)
                      .status());
  const ExpertGemmLaunch launch = {.experts = static_cast<int>(args.experts),
                                   .begins = args.begins,
                                   .most_rows = static_cast<int>(args.most_rows),
                                   .n = args.n,
                                   .k = args.k,
                                   .a = args.k > 0 ? args.a.bf16() : nullptr,
                                   .a_stride = args.a_stride,
                                   .a_rows = args.a_rows,
                                   .b = args.k > 0 ? args.b.bf16() : nullptr,
                                   .b_stride = args.b_stride,
                                   .b_expert_stride = args.b_expert_stride,
                                   .b_transposed = args.b_transposed == Transposed::kYes,
                                   .c = args.c.bf16(),
                                   .c_stride = args.c_stride,
                                   .bias = args.bias.bf16(),
                                   .bias_expert_stride = args.bias_expert_stride,
                                   .row_scales = args.row_scales,
                                   .scale_pairs = args.scale_pairs};
  return RunOnCuda(StrCat("multiply up to ", args.most_rows, " rows of ", args.k, " with ",
                          args.experts, " experts' matrices of ", args.k, " x ", args.n,
                          " on the tensor cores of the CUDA device"),
                   [&] { return LaunchExpertGemm(launch, context.stream); });
}

absl::Status ExpertWeightGradientCuda(const KernelContext& context,
                                      const ExpertWeightGradient& args) {
  CudaArguments arguments(context, "the gradient of experts' weights");
  RETURN_IF_ERROR(CheckRows(arguments, args.experts, args.most_rows)
                      .InRange("m", args.m, 0, kMostSize)
                      .InRange("n", args.n, 0, kMostSize)
                      .MultipleOf("m", args.m, kVectorElements)
                      .MultipleOf("n", args.n, kVectorElements)
                      .status());
  if (args.experts == 0 || args.m == 0 || args.n == 0) return absl::OkStatus();
  arguments.Array("begins", args.begins);
  if (args.most_rows > 0) {
    CheckMatrix(arguments, "a", args.a, args.m, args.a_stride);
    CheckMatrix(arguments, "b", args.b, args.n, args.b_stride);
  }
  RETURN_IF_ERROR(CheckAlignedGradient(arguments, args.gradient, args.gradient_expert_stride)
                      .InRange("the number of tiles",
                               ExpertWeightGradientBlocks(args.experts, args.m, args.n), 0,
                               kMostBlocks)
                      .status());
  const ExpertWeightGradientLaunch launch = {.experts = static_cast<int>(args.experts),
                                             .begins = args.begins,
                                             .m = args.m,
                                             .n = args.n,
                                             .a = args.most_rows > 0 ? args.a.bf16() : nullptr,
                                             .a_stride = args.a_stride,
                                             .a_rows = args.a_rows,
                                             .b = args.most_rows > 0 ? args.b.bf16() : nullptr,
                                             .b_stride = args.b_stride,
                                             .b_rows = args.b_rows,
                                             .gradient = args.gradient,
                                             .gradient_expert_stride = args.gradient_expert_stride};
  return RunOnCuda(StrCat("take the gradient of ", args.experts, " experts' weights of ", args.m,
                          " x ", args.n, " on the tensor cores of the CUDA device"),
                   [&] { return LaunchExpertWeightGradient(launch, context.stream); });
}

absl::Status ExpertBiasGradientCuda(const KernelContext& context, const ExpertBiasGradient& args) {
  CudaArguments arguments(context, "the gradient of experts' biases");
  RETURN_IF_ERROR(CheckRows(arguments, args.experts, args.most_rows)
                      .InRange("width", args.width, 0, kMostSize)
                      .status());
  if (args.experts == 0 || args.width == 0) return absl::OkStatus();
  arguments.Array("begins", args.begins);
  if (args.most_rows > 0) {
    arguments.Bf16("output_gradient", args.output_gradient)
        .InRange("output_stride", args.output_stride, args.width,
                 std::numeric_limits<int64_t>::max());
    if (args.row_scales != nullptr) arguments.Array("scale_pairs", args.scale_pairs);
  }
  RETURN_IF_ERROR(arguments.Gradient("gradient", args.gradient)
                      .InRange("the number of tiles",
                               ExpertBiasGradientBlocks(args.experts, args.width), 0, kMostBlocks)
                      .status());
  const ExpertBiasGradientLaunch launch = {
      .experts = static_cast<int>(args.experts),
      .begins = args.begins,
      .width = args.width,
      .output_gradient = args.most_rows > 0 ? args.output_gradient.bf16() : nullptr,
      .output_stride = args.output_stride,
      .rows = args.rows,
      .row_scales = args.row_scales,
      .scale_pairs = args.scale_pairs,
      .gradient = args.gradient,
      .gradient_expert_stride = args.gradient_expert_stride};
  return RunOnCuda(StrCat("sum the gradient of ", args.experts, " experts' biases of ", args.width,
                          " on the CUDA device"),
                   [&] { return LaunchExpertBiasGradient(launch, context.stream); });
}

}  // namespace horizon
