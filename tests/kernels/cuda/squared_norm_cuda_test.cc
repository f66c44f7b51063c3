#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/optimizer/squared_norm.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

class SquaredNormCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, SquaredNormCudaTest, testing::Values(0, 1, 4));

// Numbers of very different size, so that another order gives other bits.
std::vector<float> Numbers(int64_t count) {
  std::mt19937 random(1);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) {
    number = std::ldexp(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f,
                        static_cast<int>(random() % 40) - 20);
  }
  return numbers;
}

template <typename T>
std::vector<double> OnCuda(const std::vector<T>& numbers, int64_t block, int64_t offset,
                           uint64_t seed) {
  const auto count = static_cast<int64_t>(numbers.size());
  const CudaStream stream(seed);
  const DeviceArray<T> values(stream, numbers, offset);
  const DeviceArray<double> partials(
      stream, std::vector<double>(static_cast<size_t>((count + block - 1) / block), -1.0), offset);
  SquaredNorm args = {.count = count, .block = block, .partials = partials.data()};
  if constexpr (sizeof(T) == 2) {
    args.bf16 = values.data();
  } else {
    args.fp32 = values.data();
  }
  EXPECT_TRUE(SquaredNormCuda(stream.context(), args).ok());
  return partials.Read();
}

template <typename T>
std::vector<double> OnHost(const std::vector<T>& numbers, int64_t block) {
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<double> partials(static_cast<size_t>((count + block - 1) / block));
  SquaredNorm args = {.count = count, .block = block, .partials = partials.data()};
  if constexpr (sizeof(T) == 2) {
    args.bf16 = numbers.data();
  } else {
    args.fp32 = numbers.data();
  }
  KernelLane lane(1);
  EXPECT_TRUE(SquaredNormHost(lane.context(), args).ok());
  return partials;
}

TEST_P(SquaredNormCudaTest, HasTheHostsBitsInAnyOrderAndPlace) {
  for (const int64_t count : {0, 1, 15, 16, 17, 100, 999, 70'001}) {
    const std::vector<float> numbers = Numbers(count);
    const std::vector<uint16_t> halves = Narrowed(numbers);
    for (const int64_t block : {5, 64, 1000, 65536}) {
      if (count > 1000 && block < 1000) continue;
      for (const uint64_t seed : {1, 2}) {
        EXPECT_EQ(OnCuda(numbers, block, offset(), seed), OnHost(numbers, block)) << count;
        EXPECT_EQ(OnCuda(halves, block, offset(), seed), OnHost(halves, block)) << count;
      }
    }
  }
}

// More partials than all blocks take at once.
TEST_P(SquaredNormCudaTest, ManyPartialsAreStridedOver) {
  if (offset() != 0) return;
  const std::vector<float> numbers = Numbers(33'001);
  EXPECT_EQ(OnCuda(numbers, 1, 0, 1), OnHost(numbers, 1));
}

TEST_P(SquaredNormCudaTest, LargeNumbersDoNotOverflowAndOthersShow) {
  std::vector<float> numbers(300, std::numeric_limits<float>::max());
  for (const double partial : OnCuda(numbers, 100, offset(), 1)) {
    EXPECT_TRUE(std::isfinite(partial));
  }
  numbers[100] = std::numeric_limits<float>::quiet_NaN();
  numbers[299] = -std::numeric_limits<float>::infinity();
  const std::vector<double> partials = OnCuda(numbers, 100, offset(), 1);
  EXPECT_TRUE(std::isfinite(partials[0]));
  EXPECT_FALSE(std::isfinite(partials[1]));
  EXPECT_FALSE(std::isfinite(partials[2]));
}

}  // namespace
}  // namespace horizon
