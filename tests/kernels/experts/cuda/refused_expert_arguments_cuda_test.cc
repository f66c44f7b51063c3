// What the CUDA bodies of experts answer before they launch, and where there is no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/experts/dispatch.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_glu.h"
#include "kernels/experts/router.h"
#include "tests/kernels/support/device_arrays.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

// Never touched: what looks like device memory and a stream.
alignas(256) char memory[4096];

KernelContext SomeContext() {
  return {.stream = reinterpret_cast<CUstream_st*>(memory),
          .device_workspace = {reinterpret_cast<std::byte*>(memory), sizeof(memory)}};
}
template <typename T>
T* Some() {
  return reinterpret_cast<T*>(memory);
}

// Arguments of one token, one expert and eight columns.
RouterForward GoodRouter() {
  return {.tokens = 1,
          .experts = 1,
          .per_token = 1,
          .logits = Some<float>(),
          .bias = Some<const uint16_t>(),
          .probabilities = Some<float>(),
          .chosen = Some<int32_t>(),
          .weights = Some<float>()};
}
RouterBackward GoodRouterBackward() {
  return {.tokens = 1,
          .experts = 1,
          .per_token = 1,
          .probabilities = Some<float>(),
          .chosen = Some<int32_t>(),
          .weights = Some<float>(),
          .weight_gradient = Some<float>(),
          .probability_gradient = Some<float>(),
          .records = Some<TokenRecord>(),
          .logit_gradient = Some<uint16_t>()};
}
RouterStatistics GoodStatistics() {
  return {.tokens = 1,
          .experts = 1,
          .per_token = 1,
          .records = Some<TokenRecord>(),
          .probabilities = Some<float>(),
          .chosen = Some<int32_t>(),
          .counts = Some<int64_t>(),
          .probability_sums = Some<double>()};
}
RouterLossGradient GoodLossGradient() {
  return {.layers = 1, .experts = 1, .counts = Some<int64_t>(), .gradient = Some<float>()};
}
Dispatch GoodDispatch() {
  return {.tokens = 1,
          .experts = 1,
          .per_token = 1,
          .chosen = Some<int32_t>(),
          .begins = Some<int32_t>(),
          .row_pairs = Some<int32_t>(),
          .row_tokens = Some<int32_t>(),
          .pair_rows = Some<int32_t>()};
}
CombinePairs GoodCombine() {
  return {.tokens = 1,
          .per_token = 1,
          .width = 8,
          .end_expert = 1,
          .chosen = Some<int32_t>(),
          .pair_rows = Some<int32_t>(),
          .rows = Some<const uint16_t>(),
          .sum = Some<float>()};
}
ExpertGemm GoodGemm() {
  return {.experts = 1,
          .begins = Some<int32_t>(),
          .most_rows = 1,
          .n = 8,
          .k = 8,
          .a = Some<const uint16_t>(),
          .a_stride = 8,
          .b = Some<const uint16_t>(),
          .b_stride = 8,
          .b_expert_stride = 64,
          .c = Some<uint16_t>(),
          .c_stride = 8,
          .bias = Some<const uint16_t>(),
          .bias_expert_stride = 8,
          .row_scales = Some<float>(),
          .scale_pairs = Some<int32_t>()};
}
ExpertWeightGradient GoodWeightGradient() {
  return {.experts = 1,
          .begins = Some<int32_t>(),
          .most_rows = 1,
          .m = 8,
          .n = 8,
          .a = Some<const uint16_t>(),
          .a_stride = 8,
          .b = Some<const uint16_t>(),
          .b_stride = 8,
          .gradient = {.sum = Some<float>()},
          .gradient_expert_stride = 64};
}
ExpertBiasGradient GoodBiasGradient() {
  return {.experts = 1,
          .begins = Some<int32_t>(),
          .most_rows = 1,
          .width = 8,
          .output_gradient = Some<const uint16_t>(),
          .output_stride = 8,
          .row_scales = Some<float>(),
          .scale_pairs = Some<int32_t>(),
          .gradient = {.sum = Some<float>()},
          .gradient_expert_stride = 8};
}
ExpertGluShape GoodShape() {
  return {.width = 8,
          .experts = 1,
          .begins = Some<int32_t>(),
          .most_rows = 1,
          .row_pairs = Some<int32_t>(),
          .weights = Some<float>()};
}
ExpertGluForward GoodGlu() {
  return {.shape = GoodShape(), .gate_up = Some<const uint16_t>(), .output = Some<uint16_t>()};
}
ExpertGluBackward GoodGluBackward() {
  return {.shape = GoodShape(),
          .gate_up = Some<const uint16_t>(),
          .output_gradient = Some<const uint16_t>(),
          .gate_up_gradient = Some<uint16_t>(),
          .weight_gradient = Some<float>(),
          .down_bias = Some<const uint16_t>(),
          .down_bias_expert_stride = 8,
          .hidden = 8,
          .down_gradient = Some<const uint16_t>(),
          .row_tokens = Some<int32_t>()};
}

std::vector<absl::Status> CallAll(const KernelContext& context) {
  return {RouterForwardCuda(context, GoodRouter()),
          RouterBackwardCuda(context, GoodRouterBackward()),
          RouterStatisticsCuda(context, GoodStatistics()),
          RouterLossGradientCuda(context, GoodLossGradient()),
          DispatchCuda(context, GoodDispatch()),
          CombinePairsCuda(context, GoodCombine()),
          ExpertGemmCuda(context, GoodGemm()),
          ExpertWeightGradientCuda(context, GoodWeightGradient()),
          ExpertBiasGradientCuda(context, GoodBiasGradient()),
          ExpertGluForwardCuda(context, GoodGlu()),
          ExpertGluBackwardCuda(context, GoodGluBackward())};
}

TEST(ExpertCudaBodies, RefuseAContextWithoutAStream) {
  KernelContext context = SomeContext();
  context.stream = nullptr;
  for (const absl::Status& status : CallAll(context)) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("stream"));
  }
}

TEST(ExpertCudaBodies, AnswerUnavailableWithoutADevice) {
  if (CudaDeviceCount() != 0) GTEST_SKIP() << "there is a CUDA device";
  for (const absl::Status& status : CallAll(SomeContext())) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("host device"));
  }
}

// Each change of arguments that are good makes them bad, and the message names what is wrong.
template <typename Args>
struct Change {
  const char* named;
  void (*change)(Args& args);
};
template <typename Args>
void ExpectRefused(absl::Status (*body)(const KernelContext&, const Args&), const Args& good,
                   const std::vector<Change<Args>>& changes) {
  for (const Change<Args>& bad : changes) {
    Args args = good;
    bad.change(args);
    const absl::Status status = body(SomeContext(), args);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad.named << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.named));
  }
}

TEST(ExpertCudaBodies, RouterRefusesWhatItCannotDo) {
  using Forward = RouterForward;
  ExpectRefused<Forward>(RouterForwardCuda, GoodRouter(),
                         {{"tokens", [](Forward& a) { a.tokens = -1; }},
                          {"experts", [](Forward& a) { a.experts = 0; }},
                          {"experts", [](Forward& a) { a.experts = 513; }},
                          {"per_token", [](Forward& a) { a.per_token = 0; }},
                          {"per_token", [](Forward& a) { a.per_token = 2; }},
                          {"logits", [](Forward& a) { a.logits = nullptr; }},
                          {"bias", [](Forward& a) { a.bias = Some<const float>(); }},
                          {"probabilities", [](Forward& a) { a.probabilities = nullptr; }},
                          {"chosen", [](Forward& a) { a.chosen = nullptr; }},
                          {"weights", [](Forward& a) { a.weights = nullptr; }}});
  using Backward = RouterBackward;
  ExpectRefused<Backward>(
      RouterBackwardCuda, GoodRouterBackward(),
      {{"per_token", [](Backward& a) { a.per_token = 2; }},
       {"probabilities", [](Backward& a) { a.probabilities = nullptr; }},
       {"chosen", [](Backward& a) { a.chosen = nullptr; }},
       {"weights", [](Backward& a) { a.weights = nullptr; }},
       {"weight_gradient", [](Backward& a) { a.weight_gradient = nullptr; }},
       {"records", [](Backward& a) { a.records = nullptr; }},
       {"logit_gradient", [](Backward& a) { a.logit_gradient = Some<float>(); }}});
  using Statistics = RouterStatistics;
  ExpectRefused<Statistics>(
      RouterStatisticsCuda, GoodStatistics(),
      {{"experts", [](Statistics& a) { a.experts = 513; }},
       {"records", [](Statistics& a) { a.records = nullptr; }},
       {"probabilities", [](Statistics& a) { a.probabilities = nullptr; }},
       {"chosen", [](Statistics& a) { a.chosen = nullptr; }},
       {"counts", [](Statistics& a) { a.counts = nullptr; }},
       {"probability_sums", [](Statistics& a) { a.probability_sums = nullptr; }}});
  using Loss = RouterLossGradient;
  ExpectRefused<Loss>(RouterLossGradientCuda, GoodLossGradient(),
                      {{"layers", [](Loss& a) { a.layers = -1; }},
                       {"experts", [](Loss& a) { a.experts = -1; }},
                       {"counts", [](Loss& a) { a.counts = nullptr; }},
                       {"gradient", [](Loss& a) { a.gradient = nullptr; }}});
}

TEST(ExpertCudaBodies, DispatchRefusesWhatItCannotDo) {
  ExpectRefused<Dispatch>(
      DispatchCuda, GoodDispatch(),
      {{"tokens", [](Dispatch& a) { a.tokens = -1; }},
       {"tokens", [](Dispatch& a) { a.tokens = std::numeric_limits<int64_t>::max(); }},
       {"tokens x per_token",
        [](Dispatch& a) {
          a.tokens = 1 << 28;
          a.experts = a.per_token = 8;
        }},
       {"experts", [](Dispatch& a) { a.experts = 0; }},
       {"experts", [](Dispatch& a) { a.experts = 513; }},
       {"per_token", [](Dispatch& a) { a.per_token = 2; }},
       {"chosen", [](Dispatch& a) { a.chosen = nullptr; }},
       {"begins", [](Dispatch& a) { a.begins = nullptr; }},
       {"row_pairs", [](Dispatch& a) { a.row_pairs = nullptr; }},
       {"row_tokens", [](Dispatch& a) { a.row_tokens = nullptr; }},
       {"pair_rows", [](Dispatch& a) { a.pair_rows = nullptr; }}});
  KernelContext small = SomeContext();
  small.device_workspace = small.device_workspace.first(DispatchWorkspaceBytes(1, 1) - 1);
  EXPECT_TRUE(absl::IsResourceExhausted(DispatchCuda(small, GoodDispatch())));
  ExpectRefused<CombinePairs>(CombinePairsCuda, GoodCombine(),
                              {{"tokens", [](CombinePairs& a) { a.tokens = -1; }},
                               {"width", [](CombinePairs& a) { a.width = 12; }},
                               {"chosen", [](CombinePairs& a) { a.chosen = nullptr; }},
                               {"pair_rows", [](CombinePairs& a) { a.pair_rows = nullptr; }},
                               {"rows", [](CombinePairs& a) { a.rows = Some<const float>(); }},
                               {"sum", [](CombinePairs& a) { a.sum = nullptr; }}});
}

TEST(ExpertCudaBodies, MultipliesRefuseWhatTheyCannotDo) {
  ExpectRefused<ExpertGemm>(ExpertGemmCuda, GoodGemm(),
                            {{"experts", [](ExpertGemm& a) { a.experts = -1; }},
                             {"most_rows", [](ExpertGemm& a) { a.most_rows = int64_t{1} << 31; }},
                             {"n", [](ExpertGemm& a) { a.n = -1; }},
                             {"k", [](ExpertGemm& a) { a.k = 12; }},
                             {"begins", [](ExpertGemm& a) { a.begins = nullptr; }},
                             {"a", [](ExpertGemm& a) { a.a = Some<const float>(); }},
                             {"a", [](ExpertGemm& a) { a.a = Some<const uint16_t>() + 4; }},
                             {"the stride of a", [](ExpertGemm& a) { a.a_stride = 12; }},
                             {"the stride of a", [](ExpertGemm& a) { a.a_stride = 0; }},
                             {"b", [](ExpertGemm& a) { a.b = nullptr; }},
                             {"the stride of b", [](ExpertGemm& a) { a.n = a.c_stride = 16; }},
                             {"b_expert_stride", [](ExpertGemm& a) { a.b_expert_stride = 4; }},
                             {"c", [](ExpertGemm& a) { a.c = Some<float>(); }},
                             {"the stride of c", [](ExpertGemm& a) { a.c_stride = 0; }},
                             {"bias", [](ExpertGemm& a) { a.bias = Some<const float>(); }},
                             {"scale_pairs", [](ExpertGemm& a) { a.scale_pairs = nullptr; }},
                             {"the number of tiles", [](ExpertGemm& a) {
                                a.most_rows = (1 << 30) - 1;
                                a.n = a.b_stride = a.c_stride = 1 << 20;
                              }}});
  using Weights = ExpertWeightGradient;
  ExpectRefused<Weights>(
      ExpertWeightGradientCuda, GoodWeightGradient(),
      {{"experts", [](Weights& a) { a.experts = -1; }},
       {"most_rows", [](Weights& a) { a.most_rows = -1; }},
       {"m", [](Weights& a) { a.m = 12; }},
       {"n", [](Weights& a) { a.n = 12; }},
       {"begins", [](Weights& a) { a.begins = nullptr; }},
       {"a", [](Weights& a) { a.a = Some<const float>(); }},
       {"the stride of a", [](Weights& a) { a.a_stride = 12; }},
       {"b", [](Weights& a) { a.b = Some<const uint16_t>() + 1; }},
       {"the stride of b", [](Weights& a) { a.b_stride = 0; }},
       {"gradient", [](Weights& a) { a.gradient = {}; }},
       {"gradient", [](Weights& a) { a.gradient.sum += 2; }},
       {"gradient_expert_stride", [](Weights& a) { a.gradient_expert_stride = 65; }},
       {"the number of tiles", [](Weights& a) { a.m = a.a_stride = a.n = a.b_stride = 1 << 24; }}});
  using Biases = ExpertBiasGradient;
  ExpectRefused<Biases>(
      ExpertBiasGradientCuda, GoodBiasGradient(),
      {{"experts", [](Biases& a) { a.experts = -1; }},
       {"width", [](Biases& a) { a.width = -1; }},
       {"begins", [](Biases& a) { a.begins = nullptr; }},
       {"output_gradient", [](Biases& a) { a.output_gradient = Some<const float>(); }},
       {"output_stride", [](Biases& a) { a.output_stride = 7; }},
       {"scale_pairs", [](Biases& a) { a.scale_pairs = nullptr; }},
       {"gradient", [](Biases& a) { a.gradient.bf16 = Some<uint16_t>(); }}});
}

TEST(ExpertCudaBodies, GluRefusesWhatItCannotDo) {
  using Forward = ExpertGluForward;
  ExpectRefused<Forward>(ExpertGluForwardCuda, GoodGlu(),
                         {{"experts", [](Forward& a) { a.shape.experts = -1; }},
                          {"most_rows", [](Forward& a) { a.shape.most_rows = -1; }},
                          {"width", [](Forward& a) { a.shape.width = 4; }},
                          {"begins", [](Forward& a) { a.shape.begins = nullptr; }},
                          {"row_pairs", [](Forward& a) { a.shape.row_pairs = nullptr; }},
                          {"weights", [](Forward& a) { a.shape.weights = nullptr; }},
                          {"gate_up", [](Forward& a) { a.gate_up = Some<const float>(); }},
                          {"output", [](Forward& a) { a.output = nullptr; }}});
  using Backward = ExpertGluBackward;
  ExpectRefused<Backward>(
      ExpertGluBackwardCuda, GoodGluBackward(),
      {{"width", [](Backward& a) { a.shape.width = -8; }},
       {"begins", [](Backward& a) { a.shape.begins = nullptr; }},
       {"gate_up", [](Backward& a) { a.gate_up = nullptr; }},
       {"output_gradient", [](Backward& a) { a.output_gradient = Some<const float>(); }},
       {"output", [](Backward& a) { a.output = Some<float>(); }},
       {"gate_up_gradient", [](Backward& a) { a.gate_up_gradient = nullptr; }},
       {"weight_gradient", [](Backward& a) { a.weight_gradient = nullptr; }},
       {"down_bias", [](Backward& a) { a.down_bias = Some<const float>(); }},
       {"hidden", [](Backward& a) { a.hidden = -1; }},
       {"down_gradient", [](Backward& a) { a.down_gradient = nullptr; }},
       {"row_tokens", [](Backward& a) { a.row_tokens = nullptr; }}});
}

TEST(ExpertCudaBodies, NothingToDoNeedsNoArrays) {
  const KernelContext context = SomeContext();
  for (const absl::Status& status :
       {RouterForwardCuda(context, {.experts = 4, .per_token = 2}),
        RouterBackwardCuda(context, {.experts = 4, .per_token = 2}),
        RouterLossGradientCuda(context, {}), CombinePairsCuda(context, {}),
        ExpertGemmCuda(context, {}), ExpertWeightGradientCuda(context, {}),
        ExpertBiasGradientCuda(context, {}), ExpertGluForwardCuda(context, {}),
        ExpertGluBackwardCuda(context, {})}) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace horizon
