#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/elementwise/residual.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

class ResidualCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, ResidualCudaTest, testing::Values(0, 1, 4));

std::vector<float> NumbersOf(const std::vector<uint16_t>& values) { return Widened(values); }
std::vector<float> NumbersOf(const std::vector<float>& values) { return values; }

// A branch of bf16 or fp32.
template <typename T>
std::vector<T> RandomBranch(std::mt19937& random, int64_t count);
template <>
std::vector<uint16_t> RandomBranch(std::mt19937& random, int64_t count) {
  return RandomBf16(random, count);
}
template <>
std::vector<float> RandomBranch(std::mt19937& random, int64_t count) {
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

enum class Output { kApart, kInResidual, kInBranch };

template <typename T>
struct Arrays {
  Arrays(int64_t count, float scale_of, bool has)
      : scale(scale_of),
        has_residual(has),
        random(1),
        residual(RandomBf16(random, count, 4.0f)),
        branch(RandomBranch<T>(random, count)) {}

  std::vector<uint16_t> OnHost() const {
    const std::vector<float> residuals = Widened(residual);
    const std::vector<float> branches = NumbersOf(branch);
    std::vector<float> output(branches.size());
    KernelLane lane(1);
    EXPECT_TRUE(
        ResidualAddHost(lane.context(), {.count = static_cast<int64_t>(branches.size()),
                                         .residual = has_residual ? residuals.data() : nullptr,
                                         .branch = branches.data(),
                                         .scale = scale,
                                         .output = output.data()})
            .ok());
    return Narrowed(output);
  }

  std::vector<uint16_t> OnCuda(int64_t offset, uint64_t seed, Output output) const {
    const CudaStream stream(seed);
    const DeviceArray<uint16_t> residuals(stream, residual, offset);
    const DeviceArray<T> branches(stream, branch, offset);
    const DeviceArray<uint16_t> apart(stream, std::vector<uint16_t>(branch.size(), 0xFFFF), offset);
    ResidualAdd args = {.count = static_cast<int64_t>(branch.size()),
                        .branch = branches.data(),
                        .scale = scale,
                        .output = apart.data()};
    if (has_residual) args.residual = residuals.data();
    if (output == Output::kInResidual) args.output = residuals.data();
    if (output == Output::kInBranch) args.output = branches.data();
    EXPECT_TRUE(ResidualAddCuda(stream.context(), args).ok());
    if (output == Output::kInResidual) return residuals.Read();
    if constexpr (sizeof(T) == sizeof(uint16_t)) {
      if (output == Output::kInBranch) return branches.Read();
    }
    return apart.Read();
  }

  float scale;
  bool has_residual;
  std::mt19937 random;
  std::vector<uint16_t> residual;
  std::vector<T> branch;
};

template <typename T>
void ExpectTheHostsBits(int64_t count, float scale, int64_t offset) {
  for (const bool has_residual : {true, false}) {
    const Arrays<T> arrays(count, scale, has_residual);
    const std::vector<uint16_t> expected = arrays.OnHost();
    EXPECT_EQ(arrays.OnCuda(offset, 1, Output::kApart), expected) << count;
    EXPECT_EQ(arrays.OnCuda(0, 2, Output::kApart), expected) << count;
    EXPECT_EQ(arrays.OnCuda(offset, 3, Output::kInResidual), expected) << count;
    if constexpr (sizeof(T) == sizeof(uint16_t)) {
      EXPECT_EQ(arrays.OnCuda(offset, 4, Output::kInBranch), expected) << count;
    }
  }
}

TEST_P(ResidualCudaTest, HasTheHostsBitsRoundedOnceInAnyOrderPlaceAndInPlace) {
  for (const float scale : {1.0f, 0.22f, -3.0f}) {
    for (const int64_t count : {0, 1, 7, 8, 9, 255, 2048, 2049, 20'003}) {
      ExpectTheHostsBits<uint16_t>(count, scale, offset());
      ExpectTheHostsBits<float>(count, scale, offset());
    }
  }
}

// More than all blocks take at once.
TEST_P(ResidualCudaTest, ManyElementsAreStridedOver) {
  if (offset() != 0) return;
  const Arrays<uint16_t> arrays(8'388'608 + 4'099, 0.22f, true);
  EXPECT_TRUE(arrays.OnCuda(0, 1, Output::kApart) == arrays.OnHost());
}

}  // namespace
}  // namespace horizon
