#include "kernels/norm/rms_norm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;  // the largest relative error of one fp32 operation

struct Shape {
  int64_t rows;
  int64_t width;
};
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{0, 8},   {1, 1},   {1, 16},  {3, 5},     {2, 17},
                                            {64, 33}, {65, 64}, {130, 7}, {200, 129}, {7, 4099}};
  return shapes;
}

// A sum of `width` products in 16 lanes: a term is rounded once as a product, and again in every
// sum it is part of, width / 16 in its lane and 16 at the end.
double SumError(int64_t width) { return (static_cast<double>(width) / 16 + 18) * kUnit; }

// What is added to weights: nothing, and 1 as in Gemma.
constexpr float kOffsets[] = {0.0f, 1.0f};

// Everything of one norm; forward runs when it is made.
struct Norm {
  Norm(Shape shape_of, uint32_t seed, float offset_of = 0.0f)
      : shape(shape_of),
        offset(offset_of),
        random(seed),
        x(RandomFloats(random, shape.rows * shape.width, 2.0f)),
        weight(RandomFloats(random, shape.width)),
        y_gradient(RandomFloats(random, shape.rows * shape.width)),
        residual(RandomFloats(random, shape.rows * shape.width)),
        inverse(shape.rows) {
    GuardedFloats y(x.size());
    KernelLane lane(1);
    EXPECT_TRUE(RmsNormForwardReference(lane.context(), Forward(y)).ok());
  }
  RmsNormForward Forward(GuardedFloats& y) {
    return {.rows = shape.rows,
            .width = shape.width,
            .epsilon = 1e-3f,
            .weight_offset = offset,
            .x = x.data(),
            .weight = weight.data(),
            .y = y.data(),
            .inverse_rms = inverse.data()};
  }
  RmsNormBackward Backward(GuardedFloats& x_gradient, GradientOut weight_gradient) {
    return {.rows = shape.rows,
            .width = shape.width,
            .weight_offset = offset,
            .x = x.data(),
            .inverse_rms = inverse.data(),
            .weight = weight.data(),
            .y_gradient = y_gradient.data(),
            .residual_gradient = residual.data(),
            .x_gradient = x_gradient.data(),
            .weight_gradient = weight_gradient};
  }

  // The weight that a column is multiplied with.
  double WeightOf(int64_t i) const { return double{offset} + weight[i]; }

  Shape shape;
  float offset;
  std::mt19937 random;
  GuardedFloats x;
  GuardedFloats weight;
  GuardedFloats y_gradient;
  GuardedFloats residual;
  GuardedFloats inverse;
};

TEST(RmsNorm, ForwardEqualsTheReference) {
  for (const float offset : kOffsets) {
    for (const Shape shape : Shapes()) {
      Norm norm(shape, 1, offset);
      GuardedFloats expected(norm.x.size());
      GuardedFloats y(norm.x.size());
      KernelLane lane(2);
      ASSERT_TRUE(RmsNormForwardReference(lane.context(), norm.Forward(expected)).ok());
      const GuardedFloats inverse = norm.inverse;
      ASSERT_TRUE(RmsNormForwardHost(lane.context(), norm.Forward(y)).ok());
      // The root halves the sum's error; mean, epsilon, root, quotient, the weight with its
      // offset and two products follow.
      const double bound = SumError(shape.width) / 2 + 7 * kUnit;
      for (int64_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], expected[i], std::fabs(expected[i]) * bound) << shape.width << " " << i;
      }
      for (int64_t row = 0; row < shape.rows; ++row) {
        ASSERT_NEAR(norm.inverse[row], inverse[row], inverse[row] * bound);
      }
      EXPECT_TRUE(y.guards_hold() && norm.inverse.guards_hold());
    }
  }
}

TEST(RmsNorm, ForwardHasTheOrderOfSixteenLanesOnEveryTarget) {
  for (const float offset : kOffsets) {
    Norm norm({3, 1003}, 2, offset);
    ForEachTarget([&](const char* target) {
      GuardedFloats y(norm.x.size());
      KernelLane lane(1);
      ASSERT_TRUE(RmsNormForwardHost(lane.context(), norm.Forward(y)).ok());
      for (int64_t row = 0; row < 3; ++row) {
        float lanes[16] = {};
        for (int64_t i = 0; i < 1003; ++i) {
          lanes[i % 16] += norm.x[row * 1003 + i] * norm.x[row * 1003 + i];
        }
        float sum = lanes[0];
        for (int j = 1; j < 16; ++j) sum += lanes[j];
        const float inverse = 1.0f / std::sqrt(sum / 1003.0f + 1e-3f);
        ASSERT_EQ(norm.inverse[row], inverse) << target;
        for (int64_t i = 0; i < 1003; ++i) {
          ASSERT_EQ(y[row * 1003 + i], norm.x[row * 1003 + i] * inverse * (offset + norm.weight[i]))
              << target;
        }
      }
    });
  }
}

// Without an offset weights are used as they are, to the sign of a zero.
TEST(RmsNorm, AnOffsetOfZeroChangesNoBitOfAWeight) {
  Norm norm({1, 2}, 10);
  norm.x[0] = norm.x[1] = 1.0f;
  norm.weight[0] = -0.0f;
  norm.weight[1] = 0.0f;
  GuardedFloats y(2);
  KernelLane lane(1);
  ASSERT_TRUE(RmsNormForwardHost(lane.context(), norm.Forward(y)).ok());
  EXPECT_TRUE(std::signbit(y[0]));
  EXPECT_FALSE(std::signbit(y[1]));
}

TEST(RmsNorm, AgainGivesForwardsBitsAndForwardMayWorkInPlace) {
  for (const float offset : kOffsets) {
    for (const Shape shape : Shapes()) {
      Norm norm(shape, 3, offset);
      KernelLane lane(2);
      GuardedFloats y(norm.x.size());
      ASSERT_TRUE(RmsNormForwardHost(lane.context(), norm.Forward(y)).ok());
      for (const auto body : {&RmsNormRecomputeHost, &RmsNormRecomputeReference}) {
        GuardedFloats again(y.size());
        ASSERT_TRUE(body(lane.context(), {.rows = shape.rows,
                                          .width = shape.width,
                                          .weight_offset = offset,
                                          .x = norm.x.data(),
                                          .inverse_rms = norm.inverse.data(),
                                          .weight = norm.weight.data(),
                                          .y = again.data()})
                        .ok());
        EXPECT_TRUE(again.guards_hold());
        if (body == &RmsNormRecomputeHost) {
          EXPECT_TRUE(SameBits(again, y));
        }
        // The weight with its offset and two products are rounded here, the result there.
        for (int64_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(again[i], y[i], std::fabs(y[i]) * 4 * kUnit);
        }
      }
      GuardedFloats in_place = norm.x;
      RmsNormForward forward = norm.Forward(in_place);
      forward.x = in_place.data();
      forward.inverse_rms = nullptr;
      ASSERT_TRUE(RmsNormForwardHost(lane.context(), forward).ok());
      EXPECT_TRUE(SameBits(in_place, y));
    }
  }
}

TEST(RmsNorm, BackwardEqualsTheReference) {
  for (const float offset : kOffsets) {
    for (const Shape shape : Shapes()) {
      Norm norm(shape, 4, offset);
      KernelLane lane(2);
      GuardedFloats expected_x(norm.x.size());
      GuardedFloats x_gradient(norm.x.size());
      GuardedFloats expected_weight(shape.width, 0.5f);
      GuardedFloats weight_gradient(shape.width, 0.5f);
      ASSERT_TRUE(RmsNormBackwardReference(
                      lane.context(),
                      norm.Backward(expected_x, {.sum = expected_weight.data(), .add = true}))
                      .ok());
      ASSERT_TRUE(RmsNormBackwardHost(
                      lane.context(),
                      norm.Backward(x_gradient, {.sum = weight_gradient.data(), .add = true}))
                      .ok());
      for (int64_t row = 0; row < shape.rows; ++row) {
        const double inverse = norm.inverse[row];
        double mean = 0.0;
        for (int64_t i = 0; i < shape.width; ++i) {
          const int64_t at = row * shape.width + i;
          mean += std::fabs(norm.y_gradient[at] * norm.WeightOf(i) * norm.x[at] * inverse);
        }
        mean /= static_cast<double>(shape.width);
        for (int64_t i = 0; i < shape.width; ++i) {
          const int64_t at = row * shape.width + i;
          // The terms a, n x mean and the residual, each with a few roundings, the mean with its
          // sum's.
          const double a = std::fabs(norm.y_gradient[at] * norm.WeightOf(i));
          const double n = std::fabs(norm.x[at] * inverse);
          const double bound =
              inverse * (a * 5 * kUnit + n * mean * (SumError(shape.width) + 9 * kUnit)) +
              2 * kUnit * (std::fabs(norm.residual[at]) + std::fabs(expected_x[at]));
          ASSERT_NEAR(x_gradient[at], expected_x[at], bound) << shape.rows << " " << shape.width;
        }
      }
      for (int64_t i = 0; i < shape.width; ++i) {
        double magnitudes = 0.5;
        for (int64_t row = 0; row < shape.rows; ++row) {
          const int64_t at = row * shape.width + i;
          magnitudes += std::fabs(norm.y_gradient[at] * norm.x[at] * norm.inverse[row]);
        }
        // At most 64 sums of fp32, two products and the last roundings.
        ASSERT_NEAR(weight_gradient[i], expected_weight[i], magnitudes * 68 * kUnit);
      }
      EXPECT_TRUE(x_gradient.guards_hold() && weight_gradient.guards_hold());
    }
  }
}

TEST(RmsNorm, GradientOfWeightsIsSummedInTilesOf64RowsThenInFp64) {
  Norm norm({200, 19}, 5);
  GuardedFloats x_gradient(norm.x.size());
  GuardedFloats weight_gradient(19);
  KernelLane lane(2);
  ASSERT_TRUE(RmsNormBackwardHost(lane.context(),
                                  norm.Backward(x_gradient, {.sum = weight_gradient.data()}))
                  .ok());
  for (int64_t i = 0; i < 19; ++i) {
    double total = 0.0;
    for (int64_t tile = 0; tile < 200; tile += 64) {
      float sum = 0.0f;
      for (int64_t row = tile; row < std::min<int64_t>(200, tile + 64); ++row) {
        sum += norm.y_gradient[row * 19 + i] * (norm.x[row * 19 + i] * norm.inverse[row]);
      }
      total += double{sum};
    }
    ASSERT_EQ(weight_gradient[i], static_cast<float>(total)) << i;
  }
}

TEST(RmsNorm, BitsDoNotDependOnWorkersScratchOrPlaces) {
  Norm norm({1000, 67}, 6, 1.0f);
  KernelLane one(1);
  GuardedFloats y(norm.x.size());
  GuardedFloats x_gradient(norm.x.size());
  GuardedFloats weight_gradient(67);
  ASSERT_TRUE(RmsNormForwardHost(one.context(), norm.Forward(y)).ok());
  ASSERT_TRUE(
      RmsNormBackwardHost(one.context(), norm.Backward(x_gradient, {.sum = weight_gradient.data()}))
          .ok());
  for (const int workers : {2, 3, 5}) {
    for (const size_t tiles_of_scratch : {1, 3, 100}) {
      KernelLane lane(workers);
      KernelContext context = lane.context();
      context.scratch = context.scratch.first(67 * (8 + 4 * tiles_of_scratch));
      GuardedFloats y_here(y.size());
      GuardedFloats x_here = norm.residual;
      GuardedFloats weight_here(67);
      ASSERT_TRUE(RmsNormForwardHost(context, norm.Forward(y_here)).ok());
      RmsNormBackward backward = norm.Backward(x_here, {.sum = weight_here.data()});
      backward.residual_gradient = x_here.data();  // in its place
      ASSERT_TRUE(RmsNormBackwardHost(context, backward).ok());
      EXPECT_TRUE(SameBits(y_here, y));
      EXPECT_TRUE(SameBits(x_here, x_gradient));
      EXPECT_TRUE(SameBits(weight_here, weight_gradient));
      GuardedFloats y_gradient_here = norm.y_gradient;
      backward = norm.Backward(y_gradient_here, {.sum = weight_here.data()});
      backward.y_gradient = y_gradient_here.data();  // in its place
      ASSERT_TRUE(RmsNormBackwardHost(context, backward).ok());
      EXPECT_TRUE(SameBits(y_gradient_here, x_gradient));
      EXPECT_TRUE(SameBits(weight_here, weight_gradient));
    }
  }
}

TEST(RmsNorm, TooLittleScratchIsRefused) {
  Norm norm({2, 67}, 7);
  KernelLane lane(1);
  KernelContext context = lane.context();
  context.scratch = context.scratch.first(67 * 12 - 1);
  GuardedFloats x_gradient(norm.x.size());
  GuardedFloats weight_gradient(67);
  EXPECT_TRUE(absl::IsResourceExhausted(
      RmsNormBackwardHost(context, norm.Backward(x_gradient, {.sum = weight_gradient.data()}))));
}

TEST(RmsNorm, NoRowsGiveAGradientOfZero) {
  Norm norm({0, 5}, 8);
  KernelLane lane(2);
  GuardedFloats x_gradient(0);
  GuardedFloats weight_gradient(5, 3.0f);
  ASSERT_TRUE(RmsNormBackwardHost(lane.context(),
                                  norm.Backward(x_gradient, {.sum = weight_gradient.data()}))
                  .ok());
  EXPECT_TRUE(SameBits(weight_gradient, GuardedFloats(5)));
}

// A frozen weight needs no scratch, and a norm with nothing to train before it neither its weight
// nor the residual's gradient: none of these are there.
TEST(RmsNorm, AGradientThatIsLeftOutChangesNoBitOfTheOther) {
  for (const float offset : kOffsets) {
    for (const Shape shape : Shapes()) {
      Norm norm(shape, 11, offset);
      const GuardedFloats y_gradient = norm.y_gradient;
      for (const auto body : {&RmsNormBackwardHost, &RmsNormBackwardReference}) {
        KernelLane lane(3);
        GuardedFloats both_x(norm.x.size());
        GuardedFloats both_weight(shape.width, 0.5f);
        ASSERT_TRUE(
            body(lane.context(), norm.Backward(both_x, {.sum = both_weight.data(), .add = true}))
                .ok());
        KernelContext without_scratch = lane.context();
        without_scratch.scratch = {};
        GuardedFloats x_gradient(norm.x.size());
        ASSERT_TRUE(body(without_scratch, norm.Backward(x_gradient, {})).ok());
        EXPECT_TRUE(SameBits(x_gradient, both_x)) << shape.rows << " " << shape.width;
        GuardedFloats in_place = y_gradient;
        RmsNormBackward backward = norm.Backward(in_place, {});
        backward.y_gradient = in_place.data();
        ASSERT_TRUE(body(without_scratch, backward).ok());
        EXPECT_TRUE(SameBits(in_place, both_x)) << shape.rows << " " << shape.width;
        GuardedFloats weight_gradient(shape.width, 0.5f);
        backward = norm.Backward(x_gradient, {.sum = weight_gradient.data(), .add = true});
        backward.weight = nullptr;
        backward.residual_gradient = nullptr;
        backward.x_gradient = nullptr;
        ASSERT_TRUE(body(lane.context(), backward).ok());
        EXPECT_TRUE(SameBits(weight_gradient, both_weight)) << shape.rows << " " << shape.width;
        EXPECT_TRUE(SameBits(norm.y_gradient, y_gradient));
        EXPECT_TRUE(x_gradient.guards_hold() && in_place.guards_hold());
        EXPECT_TRUE(weight_gradient.guards_hold() && lane.guard_holds());
      }
    }
  }
}

TEST(RmsNorm, AGradientThatLeavesRoundedIsNotTakenForALeftOutOne) {
  Norm norm({70, 19}, 12);
  GuardedFloats x_gradient(norm.x.size());
  for (const auto body : {&RmsNormBackwardHost, &RmsNormBackwardReference}) {
    KernelLane lane(1);
    GuardedFloats sum(19);
    std::vector<uint16_t> leaving(19, 0xFFFF);
    for (const GradientOut gradient :
         {GradientOut{.sum = sum.data(), .rounded = true}, {.bf16 = leaving.data()}}) {
      RmsNormBackward backward = norm.Backward(x_gradient, gradient);
      backward.x_gradient = nullptr;
      ASSERT_TRUE(body(lane.context(), backward).ok());
    }
    for (int64_t i = 0; i < 19; ++i) {
      const uint32_t bits = uint32_t{leaving[static_cast<size_t>(i)]} << 16;
      EXPECT_EQ(std::bit_cast<float>(bits), sum[i]) << i;
      EXPECT_NE(sum[i], 0.0f) << i;
    }
  }
}

TEST(RmsNorm, BackwardWithoutAnyGradientIsRefused) {
  Norm norm({2, 5}, 13);
  GuardedFloats unused(norm.x.size());
  RmsNormBackward backward = norm.Backward(unused, {});
  backward.x_gradient = nullptr;
  for (const auto body : {&RmsNormBackwardHost, &RmsNormBackwardReference}) {
    KernelLane lane(1);
    const absl::Status status = body(lane.context(), backward);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find("neither x_gradient nor weight_gradient"), std::string::npos);
  }
}

// In double, from the definition: sum of y x y_gradient. Central differences with a step of 1e-4
// are off by 1e-8 x the third derivative and 1e-12 by rounding; the kernels' fp32 by 1e-6.
TEST(RmsNorm, BackwardEqualsFiniteDifferences) {
  for (const float offset : kOffsets) {
    constexpr int64_t kWidth = 11;
    Norm norm({3, kWidth}, 9, offset);
    std::vector<double> x(norm.x.span().begin(), norm.x.span().end());
    std::vector<double> weight(norm.weight.span().begin(), norm.weight.span().end());
    const auto loss = [&] {
      double sum = 0.0;
      for (size_t row = 0; row < 3; ++row) {
        double squares = 0.0;
        for (size_t i = 0; i < kWidth; ++i) squares += x[row * kWidth + i] * x[row * kWidth + i];
        const double root = std::sqrt(squares / kWidth + double{1e-3f});
        for (size_t i = 0; i < kWidth; ++i) {
          const auto at = static_cast<int64_t>(row * kWidth + i);
          sum += x[row * kWidth + i] / root * (double{offset} + weight[i]) * norm.y_gradient[at];
        }
      }
      return sum;
    };
    const auto slope = [&](double& value) {
      const double before = value;
      value = before + 1e-4;
      const double above = loss();
      value = before - 1e-4;
      const double below = loss();
      value = before;
      return (above - below) / 2e-4;
    };
    for (const auto body : {&RmsNormBackwardHost, &RmsNormBackwardReference}) {
      GuardedFloats x_gradient(norm.x.size());
      GuardedFloats weight_gradient(kWidth);
      KernelLane lane(1);
      RmsNormBackward backward = norm.Backward(x_gradient, {.sum = weight_gradient.data()});
      backward.residual_gradient = nullptr;
      ASSERT_TRUE(body(lane.context(), backward).ok());
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(x_gradient[static_cast<int64_t>(i)], slope(x[i]), 2e-6);
      }
      for (size_t i = 0; i < kWidth; ++i) {
        EXPECT_NEAR(weight_gradient[static_cast<int64_t>(i)], slope(weight[i]), 2e-6);
      }
    }
  }
}

}  // namespace
}  // namespace horizon
