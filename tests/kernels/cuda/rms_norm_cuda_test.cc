#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_column_scratch.h"
#include "kernels/norm/rms_norm.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

struct Shape {
  int64_t rows;
  int64_t width;
};
std::string Named(Shape shape) {
  return std::to_string(shape.rows) + " rows of " + std::to_string(shape.width);
}

// One row a warp up to a width of 1024, one a block above; 4096 blocks at most.
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{0, 8},    {1, 1},    {1, 8},    {3, 5},    {2, 17},
                                            {9, 64},   {65, 128}, {130, 7},  {200, 72}, {5, 777},
                                            {5, 1024}, {3, 1025}, {3, 1032}, {3, 4096}};
  return shapes;
}

// A term of a sum over a row is rounded in at most width / 32 + 8 sums of its thread, 5 of its warp
// and 8 of its block, and once or twice as a product.
double SumError(int64_t width) { return (static_cast<double>(width) / 32 + 23) * kFp32Unit; }

constexpr float kEpsilon = 1e-3f;

// What is added to weights: nothing, and 1 as in Gemma.
constexpr float kWeightOffsets[] = {0.0f, 1.0f};

struct Norm {
  Norm(Shape shape_of, uint32_t seed, float weight_offset_of = 0.0f)
      : shape(shape_of),
        weight_offset(weight_offset_of),
        random(seed),
        x(RandomBf16(random, shape.rows * shape.width, 2.0f)),
        weight(RandomBf16(random, shape.width)),
        y_gradient(RandomBf16(random, shape.rows * shape.width)),
        residual(RandomBf16(random, shape.rows * shape.width)),
        inverse(static_cast<size_t>(shape.rows)) {
    std::vector<float> wide_x = Widened(x);
    std::vector<float> wide_weight = Widened(weight);
    y.resize(x.size());
    EXPECT_TRUE(RmsNormForwardReference({}, {.rows = shape.rows,
                                             .width = shape.width,
                                             .epsilon = kEpsilon,
                                             .weight_offset = weight_offset,
                                             .x = wide_x.data(),
                                             .weight = wide_weight.data(),
                                             .y = y.data(),
                                             .inverse_rms = inverse.data()})
                    .ok());
  }

  // The magnitude of what a column is multiplied with.
  double WeightOf(size_t column) const {
    return std::fabs(double{weight_offset} + Widened(weight[column]));
  }

  Shape shape;
  float weight_offset;
  std::mt19937 random;
  std::vector<uint16_t> x;
  std::vector<uint16_t> weight;
  std::vector<uint16_t> y_gradient;
  std::vector<uint16_t> residual;
  // By the reference.
  std::vector<float> inverse;
  std::vector<float> y;
};

struct Forward {
  std::vector<uint16_t> y;
  std::vector<float> inverse;
};

Forward ForwardOnCuda(const Norm& norm, int64_t offset, uint64_t seed, bool in_place = false) {
  const CudaStream stream(seed);
  const DeviceArray<uint16_t> x(stream, norm.x, offset);
  const DeviceArray<uint16_t> weight(stream, norm.weight, offset);
  const DeviceArray<uint16_t> y(stream, std::vector<uint16_t>(norm.x.size(), 0xFFFF), offset);
  const DeviceArray<float> inverse(stream, std::vector<float>(norm.inverse.size()), offset);
  RmsNormForward args = {.rows = norm.shape.rows,
                         .width = norm.shape.width,
                         .epsilon = kEpsilon,
                         .weight_offset = norm.weight_offset,
                         .x = x.data(),
                         .weight = weight.data(),
                         .y = in_place ? x.data() : y.data(),
                         .inverse_rms = in_place ? nullptr : inverse.data()};
  EXPECT_TRUE(RmsNormForwardCuda(stream.context(), args).ok());
  return {in_place ? x.Read() : y.Read(), inverse.Read()};
}

class RmsNormCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, RmsNormCudaTest, testing::Values(0, 1, 4));

TEST_P(RmsNormCudaTest, ForwardEqualsTheReference) {
  for (const float weight_offset : kWeightOffsets) {
    for (const Shape shape : Shapes()) {
      const Norm norm(shape, 1, weight_offset);
      const Forward forward = ForwardOnCuda(norm, offset(), 1);
      // The root halves the sum's error; mean, epsilon, root, quotient, the weight with its
      // offset and two products follow.
      const double error = SumError(shape.width) / 2 + 7 * kFp32Unit;
      ExpectNear("y, " + Named(shape), Widened(forward.y), norm.y,
                 [&](size_t i) { return std::fabs(norm.y[i]) * (kBf16Unit + 2 * error); });
      ExpectNear("inverse_rms, " + Named(shape), forward.inverse, norm.inverse,
                 [&](size_t i) { return norm.inverse[i] * error; });
    }
  }
}

TEST_P(RmsNormCudaTest, ForwardHasTheSameBitsInAnyOrderOfBlocksAtAnyPlaceAndInPlace) {
  for (const Shape shape : Shapes()) {
    const Norm norm(shape, 2, 1.0f);
    const Forward first = ForwardOnCuda(norm, 0, 1);
    for (const uint64_t seed : {2, 3}) {
      const Forward again = ForwardOnCuda(norm, offset(), seed);
      ASSERT_EQ(again.y, first.y) << Named(shape);
      ASSERT_EQ(again.inverse, first.inverse) << Named(shape);
    }
    ASSERT_EQ(ForwardOnCuda(norm, offset(), 4, true).y, first.y) << Named(shape);
  }
}

TEST_P(RmsNormCudaTest, AgainGivesForwardsBits) {
  for (const float weight_offset : kWeightOffsets) {
    for (const Shape shape : Shapes()) {
      const Norm norm(shape, 3, weight_offset);
      const Forward forward = ForwardOnCuda(norm, 0, 1);
      const CudaStream stream(5);
      const DeviceArray<uint16_t> x(stream, norm.x, offset());
      const DeviceArray<uint16_t> weight(stream, norm.weight, offset());
      const DeviceArray<uint16_t> y(stream, std::vector<uint16_t>(norm.x.size()), offset());
      const DeviceArray<float> inverse(stream, forward.inverse, offset());
      ASSERT_TRUE(RmsNormRecomputeCuda(stream.context(), {.rows = shape.rows,
                                                          .width = shape.width,
                                                          .weight_offset = norm.weight_offset,
                                                          .x = x.data(),
                                                          .inverse_rms = inverse.data(),
                                                          .weight = weight.data(),
                                                          .y = y.data()})
                      .ok());
      ASSERT_EQ(y.Read(), forward.y) << Named(shape);
    }
  }
}

// What stands where the gradients go.
enum class InPlace { kNo, kOfResidual, kOfOutput, kWithoutResidual };
struct Backward {
  std::vector<uint16_t> x_gradient;
  std::vector<float> weight_gradient;
};

Backward BackwardOnCuda(const Norm& norm, int64_t offset, uint64_t seed, InPlace in_place,
                        int64_t workspace_bytes) {
  const CudaStream stream(seed);
  const DeviceWorkspace workspace(stream, workspace_bytes);
  const DeviceArray<uint16_t> x(stream, norm.x, offset);
  const DeviceArray<float> inverse(stream, norm.inverse, offset);
  const DeviceArray<uint16_t> weight(stream, norm.weight, offset);
  const DeviceArray<uint16_t> y_gradient(stream, norm.y_gradient, offset);
  const DeviceArray<uint16_t> residual(stream, norm.residual, offset);
  const DeviceArray<uint16_t> other(stream, std::vector<uint16_t>(norm.x.size(), 0xFFFF), offset);
  const DeviceArray<float> weight_gradient(
      stream, std::vector<float>(static_cast<size_t>(norm.shape.width), 0.5f), offset);
  const DeviceArray<uint16_t>& x_gradient = in_place == InPlace::kOfResidual ? residual
                                            : in_place == InPlace::kOfOutput ? y_gradient
                                                                             : other;
  RmsNormBackward args = {.rows = norm.shape.rows,
                          .width = norm.shape.width,
                          .weight_offset = norm.weight_offset,
                          .x = x.data(),
                          .inverse_rms = inverse.data(),
                          .weight = weight.data(),
                          .y_gradient = y_gradient.data(),
                          .residual_gradient = residual.data(),
                          .x_gradient = x_gradient.data(),
                          .weight_gradient = {.sum = weight_gradient.data(), .add = true}};
  if (in_place == InPlace::kWithoutResidual) args.residual_gradient = nullptr;
  EXPECT_TRUE(RmsNormBackwardCuda(workspace.context(), args).ok());
  return {x_gradient.Read(), weight_gradient.Read()};
}

Backward BackwardOnHost(const Norm& norm, decltype(&RmsNormBackwardHost) body, bool has_residual,
                        std::vector<float>& x_gradient) {
  const std::vector<float> x = Widened(norm.x);
  const std::vector<float> weight = Widened(norm.weight);
  const std::vector<float> y_gradient = Widened(norm.y_gradient);
  const std::vector<float> residual = Widened(norm.residual);
  std::vector<float> weight_gradient(weight.size(), 0.5f);
  x_gradient.resize(x.size());
  KernelLane lane(1);
  RmsNormBackward args = {.rows = norm.shape.rows,
                          .width = norm.shape.width,
                          .weight_offset = norm.weight_offset,
                          .x = x.data(),
                          .inverse_rms = norm.inverse.data(),
                          .weight = weight.data(),
                          .y_gradient = y_gradient.data(),
                          .residual_gradient = residual.data(),
                          .x_gradient = x_gradient.data(),
                          .weight_gradient = {.sum = weight_gradient.data(), .add = true}};
  if (!has_residual) args.residual_gradient = nullptr;
  EXPECT_TRUE(body(lane.context(), args).ok());
  return {{}, weight_gradient};
}

void ExpectBackwardNear(const Norm& norm, const Backward& backward, bool has_residual) {
  std::vector<float> expected;
  const Backward reference =
      BackwardOnHost(norm, &RmsNormBackwardReference, has_residual, expected);
  const auto width = static_cast<size_t>(norm.shape.width);
  std::vector<double> means(norm.inverse.size());
  std::vector<double> magnitudes(width, 0.5);
  for (size_t at = 0; at < norm.x.size(); ++at) {
    const size_t row = at / width;
    const double normal = std::fabs(Widened(norm.x[at]) * norm.inverse[row]);
    const double gradient = std::fabs(Widened(norm.y_gradient[at]));
    means[row] += gradient * norm.WeightOf(at % width) * normal / static_cast<double>(width);
    magnitudes[at % width] += gradient * normal;
  }
  ExpectNear(
      "x_gradient, " + Named(norm.shape), Widened(backward.x_gradient), expected, [&](size_t at) {
        // The terms a, n x mean and the residual, each with a few roundings, the mean with
        // its sum's, and the last one to bf16.
        const double inverse = norm.inverse[at / width];
        const double a = std::fabs(Widened(norm.y_gradient[at])) * norm.WeightOf(at % width);
        const double n = std::fabs(Widened(norm.x[at])) * inverse;
        const double residual = has_residual ? std::fabs(Widened(norm.residual[at])) : 0.0;
        const double error =
            inverse * (a * 5 * kFp32Unit +
                       n * means[at / width] * (SumError(norm.shape.width) + 9 * kFp32Unit)) +
            2 * kFp32Unit * (residual + std::fabs(expected[at]));
        return 2 * error + std::fabs(expected[at]) * kBf16Unit;
      });
  // At most 64 sums of fp32, two products and the last roundings.
  ExpectNear("weight_gradient, " + Named(norm.shape), backward.weight_gradient,
             reference.weight_gradient, [&](size_t i) { return magnitudes[i] * 68 * kFp32Unit; });
}

int64_t EnoughWorkspace(Shape shape) {
  return LeastColumnScratchBytes(shape.width) + shape.width * 4 * (shape.rows / 64);
}

TEST_P(RmsNormCudaTest, BackwardEqualsTheReferenceAndTheWeightsGradientTheHost) {
  for (const float weight_offset : kWeightOffsets) {
    for (const Shape shape : Shapes()) {
      const Norm norm(shape, 4, weight_offset);
      for (const InPlace in_place : {InPlace::kNo, InPlace::kWithoutResidual}) {
        const Backward backward =
            BackwardOnCuda(norm, offset(), 1, in_place, EnoughWorkspace(shape));
        ExpectBackwardNear(norm, backward, in_place == InPlace::kNo);
        std::vector<float> x_gradient;
        const Backward host = BackwardOnHost(norm, &RmsNormBackwardHost, true, x_gradient);
        ASSERT_EQ(backward.weight_gradient, host.weight_gradient) << Named(shape);
      }
    }
  }
}

TEST_P(RmsNormCudaTest, BackwardHasTheSameBitsInAnyOrderPlaceAndWorkspace) {
  for (const Shape shape : Shapes()) {
    const Norm norm(shape, 5, 1.0f);
    const Backward first = BackwardOnCuda(norm, 0, 1, InPlace::kNo, EnoughWorkspace(shape));
    uint64_t seed = 2;
    for (const InPlace in_place : {InPlace::kNo, InPlace::kOfResidual, InPlace::kOfOutput}) {
      const Backward again =
          BackwardOnCuda(norm, offset(), seed++, in_place, LeastColumnScratchBytes(shape.width));
      ASSERT_EQ(again.x_gradient, first.x_gradient) << Named(shape);
      ASSERT_EQ(again.weight_gradient, first.weight_gradient) << Named(shape);
    }
  }
}

// What of a backward pass is left out.
enum class LeftOut { kNone, kWeightGradient, kInputGradient };
struct LeavingBackward {
  std::vector<uint16_t> x_gradient;
  std::vector<uint16_t> weight_gradient;
};

// What is left out is not there: a frozen weight's gradient and its workspace, or the gradient of x
// with the weight and the residual's gradient.
LeavingBackward BackwardWithout(LeftOut left_out, const Norm& norm, int64_t offset, uint64_t seed) {
  constexpr uint16_t kUntouched = 0xABCD;
  const CudaStream stream(seed);
  const DeviceWorkspace workspace(
      stream, left_out == LeftOut::kWeightGradient ? 0 : LeastColumnScratchBytes(norm.shape.width));
  const DeviceArray<uint16_t> x(stream, norm.x, offset);
  const DeviceArray<float> inverse(stream, norm.inverse, offset);
  const DeviceArray<uint16_t> weight(stream, norm.weight, offset);
  const DeviceArray<uint16_t> y_gradient(stream, norm.y_gradient, offset);
  const DeviceArray<uint16_t> residual(stream, norm.residual, offset);
  const DeviceArray<uint16_t> x_gradient(stream, std::vector<uint16_t>(norm.x.size(), kUntouched),
                                         offset);
  const DeviceArray<uint16_t> weight_gradient(
      stream, std::vector<uint16_t>(norm.weight.size(), kUntouched), offset);
  RmsNormBackward args = {.rows = norm.shape.rows,
                          .width = norm.shape.width,
                          .weight_offset = norm.weight_offset,
                          .x = x.data(),
                          .inverse_rms = inverse.data(),
                          .weight = weight.data(),
                          .y_gradient = y_gradient.data(),
                          .residual_gradient = residual.data(),
                          .x_gradient = x_gradient.data(),
                          .weight_gradient = {.bf16 = weight_gradient.data()}};
  if (left_out == LeftOut::kWeightGradient) args.weight_gradient = {};
  if (left_out == LeftOut::kInputGradient) {
    args.weight = nullptr;
    args.residual_gradient = nullptr;
    args.x_gradient = nullptr;
  }
  const absl::Status status = RmsNormBackwardCuda(workspace.context(), args);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(y_gradient.Read(), norm.y_gradient);
  EXPECT_EQ(residual.Read(), norm.residual);
  return {x_gradient.Read(), weight_gradient.Read()};
}

TEST_P(RmsNormCudaTest, AGradientThatIsLeftOutChangesNoBitOfTheOther) {
  for (const Shape shape : Shapes()) {
    const Norm norm(shape, 7, 1.0f);
    const LeavingBackward both = BackwardWithout(LeftOut::kNone, norm, 0, 1);
    ASSERT_EQ(BackwardWithout(LeftOut::kWeightGradient, norm, offset(), 2).x_gradient,
              both.x_gradient)
        << Named(shape);
    ASSERT_EQ(BackwardWithout(LeftOut::kInputGradient, norm, offset(), 3).weight_gradient,
              both.weight_gradient)
        << Named(shape);
    // It was computed: added to 0.5 in fp32 it is the same but for roundings.
    std::vector<float> rounded = Widened(both.weight_gradient);
    for (float& gradient : rounded) gradient += 0.5f;
    const std::vector<float> sums =
        BackwardOnCuda(norm, 0, 4, InPlace::kNo, EnoughWorkspace(shape)).weight_gradient;
    ExpectNear("weight_gradient, " + Named(shape), rounded, sums, [&](size_t i) {
      return (std::fabs(double{sums[i]}) + 0.5) * (kBf16Unit + 4 * kFp32Unit);
    });
  }
}

// More rows than all blocks take at once.
TEST_P(RmsNormCudaTest, ManyRowsAreStridedOver) {
  for (const Shape shape : {Shape{33'000, 8}, Shape{4'100, 1032}}) {
    if (offset() != 0) continue;
    const Norm norm(shape, 6);
    const Forward forward = ForwardOnCuda(norm, 0, 1);
    const double error = SumError(shape.width) / 2 + 7 * kFp32Unit;
    ExpectNear("y, " + Named(shape), Widened(forward.y), norm.y,
               [&](size_t i) { return std::fabs(norm.y[i]) * (kBf16Unit + 2 * error); });
    ExpectBackwardNear(norm, BackwardOnCuda(norm, 0, 1, InPlace::kNo, EnoughWorkspace(shape)),
                       true);
  }
}

}  // namespace
}  // namespace horizon
