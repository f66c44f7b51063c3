// The gradient of a bias, whose sums are those of all columns.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/gemm/gemm.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

class BiasGradientCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, BiasGradientCudaTest, testing::Values(0, 1, 4));

struct Bias {
  Bias(int64_t tokens_of, int64_t width_of, uint32_t seed)
      : tokens(tokens_of), width(width_of), random(seed) {
    gradients = RandomBf16(random, tokens * width);
  }
  int64_t tokens;
  int64_t width;
  std::mt19937 random;
  std::vector<uint16_t> gradients;
};

template <typename T>
std::vector<T> OnCuda(const Bias& bias, GradientOut storing, int64_t offset, uint64_t seed,
                      int64_t workspace_bytes) {
  const CudaStream stream(seed);
  const DeviceWorkspace workspace(stream, workspace_bytes);
  const DeviceArray<uint16_t> gradients(stream, bias.gradients, offset);
  const DeviceArray<T> out(stream, std::vector<T>(static_cast<size_t>(bias.width), T{5}), offset);
  if constexpr (sizeof(T) == 2) {
    storing.bf16 = out.data();
  } else {
    storing.sum = out.data();
  }
  EXPECT_TRUE(BiasGradientCuda(workspace.context(), {.tokens = bias.tokens,
                                                     .width = bias.width,
                                                     .output_gradient = gradients.data(),
                                                     .gradient = storing})
                  .ok());
  return out.Read();
}

template <typename T>
std::vector<T> OnHost(const Bias& bias, GradientOut storing, decltype(&BiasGradientHost) body) {
  const std::vector<float> gradients = Widened(bias.gradients);
  std::vector<T> out(static_cast<size_t>(bias.width), T{5});
  if constexpr (sizeof(T) == 2) {
    storing.bf16 = out.data();
  } else {
    storing.sum = out.data();
  }
  KernelLane lane(1);
  EXPECT_TRUE(body(lane.context(), {.tokens = bias.tokens,
                                    .width = bias.width,
                                    .output_gradient = gradients.data(),
                                    .gradient = storing})
                  .ok());
  return out;
}

TEST_P(BiasGradientCudaTest, HasTheHostsBitsInAnyOrderPlaceAndWorkspace) {
  for (const auto& [tokens, width] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 8}, {1, 1}, {63, 5}, {64, 8}, {65, 17}, {200, 129}, {1000, 64}, {70, 4096}}) {
    const Bias bias(tokens, width, 1);
    const int64_t least = LeastColumnScratchBytes(width);
    // One tile at a time, two, and all at once.
    uint64_t seed = 1;
    for (const int64_t bytes : {least, least + 4 * width, least + 4 * width * (tokens / 64 + 1)}) {
      EXPECT_EQ(OnCuda<uint16_t>(bias, {}, offset(), ++seed, bytes),
                OnHost<uint16_t>(bias, {}, &BiasGradientHost));
      for (const GradientOut storing :
           {GradientOut{}, GradientOut{.add = true}, GradientOut{.add = true, .rounded = true}}) {
        EXPECT_EQ(OnCuda<float>(bias, storing, offset(), ++seed, bytes),
                  OnHost<float>(bias, storing, &BiasGradientHost))
            << tokens << " tokens, width " << width;
      }
    }
    const std::vector<float> reference = OnHost<float>(bias, {}, &BiasGradientReference);
    // 64 sums in fp32 of at most `tokens` numbers of at most 1.
    ExpectNear(
        "bias", OnCuda<float>(bias, {}, offset(), 1, least), reference,
        [&, tokens = tokens](size_t) { return 65 * kFp32Unit * static_cast<double>(tokens); });
  }
}

TEST_P(BiasGradientCudaTest, TooLittleWorkspaceIsRefused) {
  const CudaStream stream;
  const DeviceWorkspace workspace(stream, LeastColumnScratchBytes(64) - 1);
  const DeviceArray<float> out(stream, std::vector<float>(64), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(BiasGradientCuda(
      workspace.context(), {.tokens = 0, .width = 64, .gradient = {.sum = out.data()}})));
}

}  // namespace
}  // namespace horizon
