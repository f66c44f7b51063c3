#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/activation/glu.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/gelu_error.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

class GluCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, GluCudaTest, testing::Values(0, 1, 4));

constexpr GluActivation kActivations[] = {GluActivation::kSilu, GluActivation::kGeluTanh};

struct Glu {
  Glu(GluActivation of, int64_t count, uint32_t seed)
      : activation(of),
        random(seed),
        gate(RandomBf16(random, count, 8.0f)),
        up(RandomBf16(random, count, 2.0f)),
        gradient(RandomBf16(random, count)) {
    // Where e^x and e^-x overflow, and zeros.
    const std::vector<float> far = {-100.0f, 100.0f, -88.5f, 88.5f, 0.0f, -0.0f, 1e30f, -1e30f};
    for (size_t i = 0; i < gate.size(); i += 11) gate[i] = Narrowed(far[i / 11 % far.size()]);
  }
  GluActivation activation;
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

Results OnCuda(const Glu& glu, int64_t offset, uint64_t seed, bool in_place) {
  const CudaStream stream(seed);
  const std::vector<uint16_t> empty(glu.gate.size(), 0xFFFF);
  const DeviceArray<uint16_t> gate(stream, glu.gate, offset);
  const DeviceArray<uint16_t> up(stream, glu.up, offset);
  const DeviceArray<uint16_t> gradient(stream, glu.gradient, offset);
  const DeviceArray<uint16_t> forward(stream, empty, offset);
  const DeviceArray<uint16_t> output(stream, empty, offset);
  const DeviceArray<uint16_t> gate_gradient(stream, empty, offset);
  const DeviceArray<uint16_t> up_gradient(stream, empty, offset);
  const auto count = static_cast<int64_t>(glu.gate.size());
  EXPECT_TRUE(GluForwardCuda(stream.context(), {.activation = glu.activation,
                                                .count = count,
                                                .gate = gate.data(),
                                                .up = up.data(),
                                                .output = forward.data()})
                  .ok());
  const DeviceArray<uint16_t>& into = in_place ? gradient : gate_gradient;
  GluBackward backward = {.activation = glu.activation,
                          .count = count,
                          .gate = gate.data(),
                          .up = up.data(),
                          .output_gradient = gradient.data(),
                          .output = output.data(),
                          .gate_gradient = into.data(),
                          .up_gradient = up_gradient.data()};
  if (in_place) backward.output = nullptr;
  EXPECT_TRUE(GluBackwardCuda(stream.context(), backward).ok());
  return {forward.Read(), in_place ? forward.Read() : output.Read(), into.Read(),
          up_gradient.Read()};
}

// Exp is within 2 units on a GPU, a sigmoid within 4 then. What is smaller than the least normal
// number may become zero.
constexpr double kError = 8 * kFp32Unit;
constexpr double kTiny = 0x1p-120;

void ExpectNearReference(const Glu& glu, const Results& results) {
  const std::vector<float> gate = Widened(glu.gate);
  const std::vector<float> up = Widened(glu.up);
  const std::vector<float> gradient = Widened(glu.gradient);
  std::vector<float> output(gate.size());
  std::vector<float> gate_gradient(gate.size());
  std::vector<float> up_gradient(gate.size());
  ASSERT_TRUE(GluBackwardReference({}, {.activation = glu.activation,
                                        .count = static_cast<int64_t>(gate.size()),
                                        .gate = gate.data(),
                                        .up = up.data(),
                                        .output_gradient = gradient.data(),
                                        .output = output.data(),
                                        .gate_gradient = gate_gradient.data(),
                                        .up_gradient = up_gradient.data()})
                  .ok());
  EXPECT_EQ(results.forward, results.output) << "the output again has other bits";
  const bool is_gelu = glu.activation == GluActivation::kGeluTanh;
  const auto value_error = [&](size_t i) {
    return is_gelu ? GeluError(gate[i]).value * kFp32Unit : kError;
  };
  // What is lost where the activation has all but vanished.
  const auto tiny = [&](size_t i) {
    return is_gelu ? std::fmin(std::fabs(gate[i]), 20.0) * 2 * 0x1p-52 : kTiny;
  };
  ExpectNear("output", Widened(results.forward), output, [&](size_t i) {
    return std::fabs(output[i]) * (kBf16Unit + 2 * value_error(i)) + tiny(i);
  });
  ExpectNear("up_gradient", Widened(results.up_gradient), up_gradient, [&](size_t i) {
    return std::fabs(up_gradient[i]) * (kBf16Unit + 2 * value_error(i)) + tiny(i);
  });
  ExpectNear("gate_gradient", Widened(results.gate_gradient), gate_gradient, [&](size_t i) {
    const double scale = std::fabs(double{gradient[i]} * up[i]);
    const double rounded = std::fabs(gate_gradient[i]) * kBf16Unit;
    if (is_gelu) return rounded + 2 * scale * (GeluError(gate[i]).slope + 4) * kFp32Unit + kTiny;
    // The slope is a sum that may cancel.
    const double sigmoid = 1.0 / (1.0 + std::exp(-double{gate[i]}));
    const double slope = sigmoid + std::fabs(gate[i]) * sigmoid * (1.0 - sigmoid);
    // 1 - sigmoid has the sigmoid's error, which is not small beside it where that is near 1.
    const double lost = std::fabs(gate[i]) * sigmoid * kError * sigmoid;
    return rounded + 2 * scale * (slope * kError + lost) + kTiny;
  });
}

TEST_P(GluCudaTest, EqualsTheReferenceWithTheSameBitsInAnyOrderPlaceAndInPlace) {
  for (const GluActivation activation : kActivations) {
    for (const int64_t count : {0, 1, 7, 8, 9, 255, 2048, 2049, 4096, 20'003}) {
      const Glu glu(activation, count, 1);
      const Results first = OnCuda(glu, 0, 1, false);
      ExpectNearReference(glu, first);
      EXPECT_EQ(OnCuda(glu, offset(), 2, false), first) << count;
      EXPECT_EQ(OnCuda(glu, offset(), 3, true), first) << count;
    }
  }
}

// More than all blocks take at once.
TEST_P(GluCudaTest, ManyElementsAreStridedOver) {
  if (offset() != 0) return;
  const Glu glu(GluActivation::kSilu, 8'388'608 + 4'099, 2);
  ExpectNearReference(glu, OnCuda(glu, 0, 1, false));
}

}  // namespace
}  // namespace horizon
