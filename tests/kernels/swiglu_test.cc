#include "kernels/swiglu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;

// Sizes around the length of a vector and of a worker's piece.
constexpr int64_t kSizes[] = {0, 1, 7, 8, 9, 31, 1003, 16384, 40001};

struct Arrays {
  explicit Arrays(int64_t count)
      : random(1),
        gate(RandomFloats(random, count, 12.0f)),
        up(RandomFloats(random, count, 3.0f)),
        gradient(RandomFloats(random, count)),
        output(count),
        gate_gradient(count),
        up_gradient(count) {}

  SwigluForward Forward() {
    return {.count = gate.size(), .gate = gate.data(), .up = up.data(), .output = output.data()};
  }
  SwigluBackward Backward() {
    return {.count = gate.size(),
            .gate = gate.data(),
            .up = up.data(),
            .output_gradient = gradient.data(),
            .output = output.data(),
            .gate_gradient = gate_gradient.data(),
            .up_gradient = up_gradient.data()};
  }

  std::mt19937 random;
  GuardedFloats gate;
  GuardedFloats up;
  GuardedFloats gradient;
  GuardedFloats output;
  GuardedFloats gate_gradient;
  GuardedFloats up_gradient;
};

// The sigmoid is off by 8 units (exp 3 ulp = 6, a sum, a quotient); what follows are products.
constexpr double kProductBound = 13 * kUnit;

TEST(Swiglu, EqualsTheReference) {
  for (const int64_t count : kSizes) {
    Arrays expected(count);
    Arrays host(count);
    KernelLane lane(2);
    ASSERT_TRUE(SwigluForwardReference(lane.context(), expected.Forward()).ok());
    ASSERT_TRUE(SwigluForwardHost(lane.context(), host.Forward()).ok());
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_NEAR(host.output[i], expected.output[i],
                  std::fabs(expected.output[i]) * kProductBound);
    }
    const GuardedFloats forward = host.output;
    ASSERT_TRUE(SwigluBackwardReference(lane.context(), expected.Backward()).ok());
    ASSERT_TRUE(SwigluBackwardHost(lane.context(), host.Backward()).ok());
    EXPECT_TRUE(SameBits(host.output, forward)) << "backward gives forward's bits again";
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_NEAR(host.up_gradient[i], expected.up_gradient[i],
                  std::fabs(expected.up_gradient[i]) * kProductBound);
      // The slope is a sum whose terms may cancel, sigmoid and silu x (1 - sigmoid): the latter's
      // factor has an absolute error, that of the sigmoid.
      const double scale = std::fabs(host.gradient[i] * host.up[i]);
      ASSERT_NEAR(host.gate_gradient[i], expected.gate_gradient[i],
                  scale * (2 + std::fabs(host.gate[i])) * kProductBound);
    }
    EXPECT_TRUE(host.output.guards_hold() && host.gate_gradient.guards_hold() &&
                host.up_gradient.guards_hold());
  }
}

TEST(Swiglu, BitsDoNotDependOnWorkersCutsOrPlaces) {
  constexpr int64_t kCount = 40001;
  Arrays one(kCount);
  KernelLane lane(1);
  ASSERT_TRUE(SwigluBackwardHost(lane.context(), one.Backward()).ok());
  for (const int workers : {2, 3, 5}) {
    KernelLane many(workers);
    Arrays here(kCount);
    SwigluBackward backward = here.Backward();
    here.gate_gradient = here.gradient;
    backward.output_gradient = here.gate_gradient.data();  // in its place
    ASSERT_TRUE(SwigluBackwardHost(many.context(), backward).ok());
    EXPECT_TRUE(SameBits(here.output, one.output));
    EXPECT_TRUE(SameBits(here.gate_gradient, one.gate_gradient));
    EXPECT_TRUE(SameBits(here.up_gradient, one.up_gradient));
  }
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Arrays here(kCount);
    for (int64_t first = 0; first < kCount;) {
      const auto count = std::min<int64_t>(kCount - first, static_cast<int64_t>(random() % 5000));
      ASSERT_TRUE(SwigluForwardHost(lane.context(), {.count = count,
                                                     .gate = here.gate.data() + first,
                                                     .up = here.up.data() + first,
                                                     .output = here.output.data() + first})
                      .ok());
      first += count;
    }
    EXPECT_TRUE(SameBits(here.output, one.output));
  }
}

TEST(Swiglu, LargeGatesDoNotOverflow) {
  Arrays arrays(6);
  const std::vector<float> gates = {-1e30f, -200.0f, -89.0f, 89.0f, 200.0f, 1e30f};
  for (int64_t i = 0; i < 6; ++i) {
    arrays.gate[i] = gates[static_cast<size_t>(i)];
    arrays.up[i] = arrays.gradient[i] = 2.0f;
  }
  KernelLane lane(1);
  ASSERT_TRUE(SwigluBackwardHost(lane.context(), arrays.Backward()).ok());
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(arrays.output[i], 0.0f, 1e-30f);
    EXPECT_NEAR(arrays.gate_gradient[i], 0.0f, 1e-30f);
  }
  for (int64_t i = 3; i < 6; ++i) {
    EXPECT_EQ(arrays.output[i], 2.0f * arrays.gate[i]);
    EXPECT_EQ(arrays.up_gradient[i], 2.0f * arrays.gate[i]);
    EXPECT_EQ(arrays.gate_gradient[i], 4.0f);
  }
}

// With a step of 1e-4 in double the differences are exact to 1e-8; fp32 to 1e-5 at these sizes.
TEST(Swiglu, BackwardEqualsFiniteDifferences) {
  Arrays arrays(101);
  for (const auto body : {&SwigluBackwardHost, &SwigluBackwardReference}) {
    KernelLane lane(1);
    SwigluBackward backward = arrays.Backward();
    backward.output = nullptr;
    ASSERT_TRUE(body(lane.context(), backward).ok());
    const auto forward = [](double gate, double up) { return gate / (1 + std::exp(-gate)) * up; };
    for (int64_t i = 0; i < 101; ++i) {
      const double gate = arrays.gate[i];
      const double up = arrays.up[i];
      const double by_gate = (forward(gate + 1e-4, up) - forward(gate - 1e-4, up)) / 2e-4;
      const double by_up = (forward(gate, up + 1e-4) - forward(gate, up - 1e-4)) / 2e-4;
      EXPECT_NEAR(arrays.gate_gradient[i], by_gate * arrays.gradient[i], 2e-5);
      EXPECT_NEAR(arrays.up_gradient[i], by_up * arrays.gradient[i], 2e-5);
    }
  }
}

}  // namespace
}  // namespace horizon
