#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/elementwise/convert.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

class ConvertCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, ConvertCudaTest, testing::Values(0, 1, 4));

// Of every size, with ties, numbers that are not finite and NaN of several kinds.
std::vector<float> Numbers(int64_t count) {
  std::mt19937 random(1);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint32_t bits = static_cast<uint32_t>(random());
    if (i % 5 == 0) bits = (bits & 0xFFFF0000) | 0x8000;
    if (i % 97 == 0) bits |= 0x7F800000;
    numbers[i] = std::bit_cast<float>(bits);
  }
  return numbers;
}

template <typename T>
std::vector<T> Stored(const std::vector<float>& sums, GradientOut storing, int64_t offset,
                      uint64_t seed) {
  const CudaStream stream(seed);
  const DeviceArray<float> sum(stream, sums, offset);
  const DeviceArray<T> out(stream, std::vector<T>(sums.size(), T{3}), offset);
  if constexpr (sizeof(T) == 2) {
    storing.bf16 = out.data();
  } else {
    storing.sum = out.data();
  }
  EXPECT_TRUE(StoreGradientCuda(stream.context(), {.count = static_cast<int64_t>(sums.size()),
                                                   .sum = sum.data(),
                                                   .gradient = storing})
                  .ok());
  return out.Read();
}

template <typename T>
std::vector<T> StoredOnHost(const std::vector<float>& sums, GradientOut storing) {
  std::vector<T> out(sums.size(), T{3});
  if constexpr (sizeof(T) == 2) {
    storing.bf16 = out.data();
  } else {
    storing.sum = out.data();
  }
  KernelLane lane(1);
  EXPECT_TRUE(StoreGradientHost(lane.context(), {.count = static_cast<int64_t>(sums.size()),
                                                 .sum = sums.data(),
                                                 .gradient = storing})
                  .ok());
  return out;
}

bool SameBitsOrBothNan(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    // A sum with a NaN has bits of its own on a GPU.
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return false;
  }
  return a.size() == b.size();
}

TEST_P(ConvertCudaTest, StoredGradientsHaveTheHostsBits) {
  for (const int64_t count : {0, 1, 7, 8, 9, 2047, 2048, 2049, 30'001}) {
    const std::vector<float> sums = Numbers(count);
    for (const uint64_t seed : {1, 2}) {
      EXPECT_EQ(Stored<uint16_t>(sums, {}, offset(), seed), StoredOnHost<uint16_t>(sums, {}));
      for (const bool add : {false, true}) {
        for (const bool rounded : {false, true}) {
          const GradientOut storing = {.add = add, .rounded = rounded};
          EXPECT_TRUE(SameBitsOrBothNan(Stored<float>(sums, storing, offset(), seed),
                                        StoredOnHost<float>(sums, storing)))
              << count << ", add " << add << ", rounded " << rounded;
        }
      }
    }
  }
}

template <typename From, typename To>
void ExpectTheHostsSums(const std::vector<From>& gradient, const std::vector<To>& before, bool add,
                        int64_t offset) {
  const auto set = [&](Accumulate& args, const From* from, To* kept) {
    args.count = static_cast<int64_t>(gradient.size());
    args.add = add;
    if constexpr (sizeof(From) == 4) args.gradient_fp32 = from;
    if constexpr (sizeof(From) == 2) args.gradient_bf16 = from;
    if constexpr (sizeof(To) == 4) args.kept_fp32 = kept;
    if constexpr (sizeof(To) == 2) args.kept_bf16 = kept;
  };
  const CudaStream stream;
  const DeviceArray<From> from(stream, gradient, offset);
  const DeviceArray<To> kept(stream, before, offset);
  Accumulate on_cuda;
  set(on_cuda, from.data(), kept.data());
  ASSERT_TRUE(AccumulateCuda(stream.context(), on_cuda).ok());
  std::vector<To> expected = before;
  KernelLane lane(1);
  Accumulate on_host;
  set(on_host, gradient.data(), expected.data());
  ASSERT_TRUE(AccumulateHost(lane.context(), on_host).ok());
  EXPECT_EQ(kept.Read(), expected) << gradient.size() << ", add " << add;
}

TEST_P(ConvertCudaTest, SumsOfGradientsHaveTheHostsBits) {
  for (const size_t count : {0, 1, 7, 8, 9, 2049, 30'001}) {
    std::mt19937 random(3);
    std::vector<float> fp32(count);
    std::vector<uint16_t> bf16(count);
    for (size_t i = 0; i < count; ++i) {
      fp32[i] = std::ldexp(static_cast<float>(random() % 100'000) - 50'000.0f, -12);
      bf16[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(fp32[i]) >> 16);
    }
    for (const bool add : {false, true}) {
      ExpectTheHostsSums(fp32, fp32, add, offset());
      ExpectTheHostsSums(fp32, bf16, add, offset());
      ExpectTheHostsSums(bf16, fp32, add, offset());
      ExpectTheHostsSums(bf16, bf16, add, offset());
    }
  }
}

TEST_P(ConvertCudaTest, CopiesBytes) {
  for (const size_t count : {0, 1, 15, 16, 17, 100'003}) {
    std::vector<unsigned char> bytes(count);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    const CudaStream stream;
    const DeviceArray<unsigned char> from(stream, bytes, offset());
    const DeviceArray<unsigned char> to(stream, std::vector<unsigned char>(count), 1);
    ASSERT_TRUE(
        CopyBytesCuda(stream.context(),
                      {.bytes = static_cast<int64_t>(count), .from = from.data(), .to = to.data()})
            .ok());
    EXPECT_EQ(to.Read(), bytes);
  }
}

}  // namespace
}  // namespace horizon
