#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/swiglu.h"
#include "tests/kernels/bf16_values.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"

namespace horizon {
namespace {

class SwigluCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, SwigluCudaTest, testing::Values(0, 1, 4));

struct Swiglu {
  Swiglu(int64_t count, uint32_t seed)
      : random(seed),
        gate(RandomBf16(random, count, 8.0f)),
        up(RandomBf16(random, count, 2.0f)),
        gradient(RandomBf16(random, count)) {
    // Where e^x and e^-x overflow, and zeros.
    const std::vector<float> far = {-100.0f, 100.0f, -88.5f, 88.5f, 0.0f, -0.0f, 1e30f, -1e30f};
    for (size_t i = 0; i < gate.size(); i += 11) gate[i] = Narrowed(far[i / 11 % far.size()]);
  }
  std::mt19937 random;
  std::vector<uint16_t> gate;
  std::vector<uint16_t> up;
  std::vector<uint16_t> gradient;
};

struct Results {
  std::vector<uint16_t> forward;
  std::vector<uint16_t> output;
  std::vector<uint16_t> gate_gradient;
  std::vector<uint16_t> up_gradient;
  bool operator==(const Results&) const = default;
};

Results OnCuda(const Swiglu& swiglu, int64_t offset, uint64_t seed, bool in_place) {
  const CudaStream stream(seed);
  const std::vector<uint16_t> empty(swiglu.gate.size(), 0xFFFF);
  const DeviceArray<uint16_t> gate(stream, swiglu.gate, offset);
  const DeviceArray<uint16_t> up(stream, swiglu.up, offset);
  const DeviceArray<uint16_t> gradient(stream, swiglu.gradient, offset);
  const DeviceArray<uint16_t> forward(stream, empty, offset);
  const DeviceArray<uint16_t> output(stream, empty, offset);
  const DeviceArray<uint16_t> gate_gradient(stream, empty, offset);
  const DeviceArray<uint16_t> up_gradient(stream, empty, offset);
  const auto count = static_cast<int64_t>(swiglu.gate.size());
  EXPECT_TRUE(SwigluForwardCuda(
                  stream.context(),
                  {.count = count, .gate = gate.data(), .up = up.data(), .output = forward.data()})
                  .ok());
  const DeviceArray<uint16_t>& into = in_place ? gradient : gate_gradient;
  SwigluBackward backward = {.count = count,
                             .gate = gate.data(),
                             .up = up.data(),
                             .output_gradient = gradient.data(),
                             .output = output.data(),
                             .gate_gradient = into.data(),
                             .up_gradient = up_gradient.data()};
  if (in_place) backward.output = nullptr;
  EXPECT_TRUE(SwigluBackwardCuda(stream.context(), backward).ok());
  return {forward.Read(), in_place ? forward.Read() : output.Read(), into.Read(),
          up_gradient.Read()};
}

// Exp is within 2 units on a GPU, a sigmoid within 4 then. What is smaller than the least normal
// number may become zero.
constexpr double kError = 8 * kFp32Unit;
constexpr double kTiny = 0x1p-120;

void ExpectNearReference(const Swiglu& swiglu, const Results& results) {
  const std::vector<float> gate = Widened(swiglu.gate);
  const std::vector<float> up = Widened(swiglu.up);
  const std::vector<float> gradient = Widened(swiglu.gradient);
  std::vector<float> output(gate.size());
  std::vector<float> gate_gradient(gate.size());
  std::vector<float> up_gradient(gate.size());
  ASSERT_TRUE(SwigluBackwardReference({}, {.count = static_cast<int64_t>(gate.size()),
                                           .gate = gate.data(),
                                           .up = up.data(),
                                           .output_gradient = gradient.data(),
                                           .output = output.data(),
                                           .gate_gradient = gate_gradient.data(),
                                           .up_gradient = up_gradient.data()})
                  .ok());
  EXPECT_EQ(results.forward, results.output) << "the output again has other bits";
  ExpectNear("output", Widened(results.forward), output,
             [&](size_t i) { return std::fabs(output[i]) * (kBf16Unit + 2 * kError) + kTiny; });
  ExpectNear("up_gradient", Widened(results.up_gradient), up_gradient, [&](size_t i) {
    return std::fabs(up_gradient[i]) * (kBf16Unit + 2 * kError) + kTiny;
  });
  ExpectNear("gate_gradient", Widened(results.gate_gradient), gate_gradient, [&](size_t i) {
    // The slope is a sum that may cancel.
    const double sigmoid = 1.0 / (1.0 + std::exp(-double{gate[i]}));
    const double slope = sigmoid + std::fabs(gate[i]) * sigmoid * (1.0 - sigmoid);
    // 1 - sigmoid has the sigmoid's error, which is not small beside it where that is near 1.
    const double lost = std::fabs(gate[i]) * sigmoid * kError * sigmoid;
    return std::fabs(gate_gradient[i]) * kBf16Unit +
           2 * std::fabs(double{gradient[i]} * up[i]) * (slope * kError + lost) + kTiny;
  });
}

TEST_P(SwigluCudaTest, EqualsTheReferenceWithTheSameBitsInAnyOrderPlaceAndInPlace) {
  for (const int64_t count : {0, 1, 7, 8, 9, 255, 2048, 2049, 4096, 20'003}) {
    const Swiglu swiglu(count, 1);
    const Results first = OnCuda(swiglu, 0, 1, false);
    ExpectNearReference(swiglu, first);
    EXPECT_EQ(OnCuda(swiglu, offset(), 2, false), first) << count;
    EXPECT_EQ(OnCuda(swiglu, offset(), 3, true), first) << count;
  }
}

// More than all blocks take at once.
TEST_P(SwigluCudaTest, ManyElementsAreStridedOver) {
  if (offset() != 0) return;
  const Swiglu swiglu(8'388'608 + 4'099, 2);
  ExpectNearReference(swiglu, OnCuda(swiglu, 0, 1, false));
}

}  // namespace
}  // namespace horizon
