// What CUDA bodies answer before they launch, and where there is no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/activation/glu.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/residual.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gemm/gemm.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/squared_norm.h"
#include "kernels/rotary/rotary.h"
#include "tests/kernels/support/device_arrays.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// Never touched: what looks like device memory and a stream.
alignas(256) char memory[1024];

KernelContext SomeContext() {
  return {.stream = reinterpret_cast<CUstream_st*>(memory),
          .device_workspace = {reinterpret_cast<std::byte*>(memory), sizeof(memory)}};
}
Values SomeValues(ValueType type) { return {memory, type}; }

// Every body with sizes of one, its arrays of the given type.
std::vector<absl::Status> CallAll(const KernelContext& context, ValueType type) {
  const Values values = SomeValues(type);
  auto* floats = reinterpret_cast<float*>(memory);
  auto* halves = reinterpret_cast<uint16_t*>(memory);
  const auto* records = reinterpret_cast<const TokenRecord*>(memory);
  const GradientOut gradient = {.sum = floats};
  return {RmsNormForwardCuda(context,
                             {.rows = 1, .width = 1, .x = values, .weight = values, .y = values}),
          RmsNormRecomputeCuda(context, {.rows = 1,
                                         .width = 1,
                                         .x = values,
                                         .inverse_rms = floats,
                                         .weight = values,
                                         .y = values}),
          RmsNormBackwardCuda(context, {.rows = 1,
                                        .width = 1,
                                        .x = values,
                                        .inverse_rms = floats,
                                        .weight = values,
                                        .y_gradient = values,
                                        .x_gradient = values,
                                        .weight_gradient = gradient}),
          ApplyRotaryCuda(context, {.tokens = 1,
                                    .heads = 1,
                                    .head_dim = 2,
                                    .rotary_dim = 2,
                                    .records = records,
                                    .table = floats,
                                    .x = values}),
          GluForwardCuda(context, {.count = 1, .gate = values, .up = values, .output = values}),
          GluBackwardCuda(context, {.count = 1,
                                    .gate = values,
                                    .up = values,
                                    .output_gradient = values,
                                    .gate_gradient = values,
                                    .up_gradient = values}),
          ResidualAddCuda(context, {.count = 1, .branch = values, .output = values}),
          EmbedForwardCuda(context, {.tokens = 1,
                                     .hidden = 1,
                                     .rows = 1,
                                     .records = records,
                                     .table = values,
                                     .output = values}),
          EmbedBackwardCuda(context, {.tokens = 1,
                                      .hidden = 1,
                                      .rows = 1,
                                      .records = records,
                                      .output_gradient = values,
                                      .gradient = gradient}),
          BiasGradientCuda(
              context, {.tokens = 1, .width = 1, .output_gradient = values, .gradient = gradient}),
          // These have no Values: the same answer whatever the type.
          type == ValueType::kFp32
              ? absl::InvalidArgumentError("bf16")
              : StoreGradientCuda(context, {.count = 1, .sum = floats, .gradient = gradient}),
          type == ValueType::kFp32
              ? absl::InvalidArgumentError("bf16")
              : CopyBytesCuda(context, {.bytes = 1, .from = memory, .to = memory + 1}),
          type == ValueType::kFp32
              ? absl::InvalidArgumentError("bf16")
              : SquaredNormCuda(
                    context,
                    {.count = 1, .fp32 = floats, .partials = reinterpret_cast<double*>(memory)}),
          type == ValueType::kFp32
              ? absl::InvalidArgumentError("bf16")
              : AdamUpdateCuda(context, {.count = 1,
                                         .gradient_fp32 = floats,
                                         .hi = halves,
                                         .m = memory,
                                         .v = memory,
                                         .first_refused = reinterpret_cast<uint64_t*>(memory)})};
}

TEST(CudaBodies, RefuseFp32AndSayWhatIsSupported) {
  for (const absl::Status& status : CallAll(SomeContext(), ValueType::kFp32)) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("bf16"));
  }
}

TEST(CudaBodies, RefuseAContextWithoutAStream) {
  KernelContext context = SomeContext();
  context.stream = nullptr;
  for (const absl::Status& status : CallAll(context, ValueType::kBf16)) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("stream"));
  }
}

TEST(CudaBodies, AnswerUnavailableWithoutADevice) {
  if (CudaDeviceCount() != 0) GTEST_SKIP() << "there is a CUDA device";
  for (const absl::Status& status : CallAll(SomeContext(), ValueType::kBf16)) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("host device"));
  }
}

TEST(CudaBodies, RefuseMissingArraysAndNegativeSizes) {
  const KernelContext context = SomeContext();
  for (const absl::Status& status :
       {GluForwardCuda(context, {.count = -1}), GluForwardCuda(context, {.count = 1}),
        ResidualAddCuda(context, {.count = -1}), ResidualAddCuda(context, {.count = 1}),
        ResidualAddCuda(context, {.count = 1, .output = SomeValues(ValueType::kBf16)}),
        ResidualAddCuda(context, {.count = 1,
                                 .residual = SomeValues(ValueType::kFp32),
                                 .branch = SomeValues(ValueType::kFp32),
                                 .output = SomeValues(ValueType::kBf16)}),
        ResidualAddCuda(context, {.count = 1,
                                 .branch = SomeValues(ValueType::kFp32),
                                 .output = SomeValues(ValueType::kBf16)}),
        RmsNormForwardCuda(context, {.rows = 1, .width = -1}),
        RmsNormForwardCuda(context, {.rows = 1, .width = 1}),
        RmsNormBackwardCuda(context, {.rows = 0, .width = 1}),
        RmsNormBackwardCuda(context, {.rows = 1,
                                     .width = 1,
                                     .x = SomeValues(ValueType::kBf16),
                                     .inverse_rms = reinterpret_cast<float*>(memory),
                                     .y_gradient = SomeValues(ValueType::kBf16),
                                     .x_gradient = SomeValues(ValueType::kBf16)}),  // no weight
        RmsNormBackwardCuda(context, {.rows = 1,
                                     .width = 1,
                                     .x = SomeValues(ValueType::kBf16),
                                     .inverse_rms = reinterpret_cast<float*>(memory),
                                     .weight = SomeValues(ValueType::kBf16),
                                     .y_gradient = SomeValues(ValueType::kBf16)}),
        EmbedBackwardCuda(context, {.tokens = 0, .hidden = 1, .rows = 1}),
        BiasGradientCuda(context, {.tokens = 0, .width = 1}),
        SquaredNormCuda(context, {.count = 1}), SquaredNormCuda(context, {.count = 0, .block = 0}),
        CopyBytesCuda(context, {.bytes = 1}), AdamUpdateCuda(context, {.count = 0}),
        AdamUpdateCuda(context, {.first = 3,
                                .moments = MomentType::k8Bit,
                                .first_refused = reinterpret_cast<uint64_t*>(memory)})}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

TEST(CudaBodies, NothingToDoNeedsNoArrays) {
  const KernelContext context = SomeContext();
  for (const absl::Status& status :
       {GluForwardCuda(context, {}), GluBackwardCuda(context, {}), ResidualAddCuda(context, {}),
        RmsNormForwardCuda(context, {}), RmsNormRecomputeCuda(context, {}),
        RmsNormBackwardCuda(context, {}), ApplyRotaryCuda(context, {}),
        EmbedForwardCuda(context, {}), EmbedBackwardCuda(context, {}),
        BiasGradientCuda(context, {}), StoreGradientCuda(context, {}), CopyBytesCuda(context, {}),
        SquaredNormCuda(context, {})}) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace horizon
