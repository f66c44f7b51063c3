#include "kernels/activation/glu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/gelu_error.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;

// Sizes around the length of a vector and of a worker's piece.
constexpr int64_t kSizes[] = {0, 1, 7, 8, 9, 31, 1003, 16384, 40001};

constexpr GluActivation kActivations[] = {GluActivation::kSilu, GluActivation::kGeluTanh};

struct Arrays {
  explicit Arrays(int64_t count, GluActivation of = GluActivation::kSilu)
      : activation(of),
        random(1),
        gate(RandomFloats(random, count, 12.0f)),
        up(RandomFloats(random, count, 3.0f)),
        gradient(RandomFloats(random, count)),
        output(count),
        gate_gradient(count),
        up_gradient(count) {}

  GluForward Forward() {
    return {.activation = activation,
            .count = gate.size(),
            .gate = gate.data(),
            .up = up.data(),
            .output = output.data()};
  }
  GluBackward Backward() {
    return {.activation = activation,
            .count = gate.size(),
            .gate = gate.data(),
            .up = up.data(),
            .output_gradient = gradient.data(),
            .output = output.data(),
            .gate_gradient = gate_gradient.data(),
            .up_gradient = up_gradient.data()};
  }

  GluActivation activation;
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

// The largest errors of the value, relative, and of its derivative. Of SiLU the latter is a sum
// whose terms may cancel, sigmoid and silu x (1 - sigmoid): the second one's factor has an absolute
// error, that of the sigmoid.
double ValueBound(GluActivation activation, float gate) {
  if (activation == GluActivation::kSilu) return kProductBound;
  return (GeluError(gate).value + 2) * kUnit;
}
double SlopeBound(GluActivation activation, float gate) {
  if (activation == GluActivation::kSilu) return (2 + std::fabs(gate)) * kProductBound;
  return (GeluError(gate).slope + 3 * 1.2) * kUnit;  // the slope itself is 1.13 at most
}
// What fp32 and the reference's 1 + tanh(u) lose where the activation has all but vanished.
constexpr double kVanished = 0x1p-52;

TEST(Glu, EqualsTheReference) {
  for (const GluActivation activation : kActivations) {
    for (const int64_t count : kSizes) {
      Arrays expected(count, activation);
      Arrays host(count, activation);
      KernelLane lane(2);
      ASSERT_TRUE(GluForwardReference(lane.context(), expected.Forward()).ok());
      ASSERT_TRUE(GluForwardHost(lane.context(), host.Forward()).ok());
      const auto near = [&](const GuardedFloats& actual, const GuardedFloats& exact, int64_t i) {
        return std::fabs(double{actual[i]} - exact[i]) <=
               std::fabs(exact[i]) * ValueBound(activation, host.gate[i]) +
                   std::fabs(host.gate[i]) * 3 * kVanished;
      };
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_TRUE(near(host.output, expected.output, i))
            << host.output[i] << " instead of " << expected.output[i] << " at " << host.gate[i];
      }
      const GuardedFloats forward = host.output;
      ASSERT_TRUE(GluBackwardReference(lane.context(), expected.Backward()).ok());
      ASSERT_TRUE(GluBackwardHost(lane.context(), host.Backward()).ok());
      EXPECT_TRUE(SameBits(host.output, forward)) << "backward gives forward's bits again";
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_TRUE(near(host.up_gradient, expected.up_gradient, i))
            << host.up_gradient[i] << " instead of " << expected.up_gradient[i];
        const double scale = std::fabs(host.gradient[i] * host.up[i]);
        ASSERT_NEAR(host.gate_gradient[i], expected.gate_gradient[i],
                    scale * SlopeBound(activation, host.gate[i]))
            << host.gate[i];
      }
      EXPECT_TRUE(host.output.guards_hold() && host.gate_gradient.guards_hold() &&
                  host.up_gradient.guards_hold());
    }
  }
}

// Values and derivatives by PyTorch 2 in double, of gates that fp32 holds:
//   torch.nn.functional.gelu(gate.double(), approximate='tanh')
TEST(Glu, GeluHasTheValuesOfPyTorch) {
  struct Known {
    float gate;
    double value;
    double slope;
  };
  constexpr Known kKnown[] = {{0.0f, 0.0, 0.5},
                              {-0.0f, -0.0, 0.5},
                              {20.0f, 20.0, 1.0},
                              {-20.0f, -0.0, 0.0},
                              {1e-3f, 0.000500398966, 0.500797884},
                              {-1e-3f, -0.000499601081, 0.499202116},
                              {0.5f, 0.34571401, 0.867369904},
                              {-0.5f, -0.15428599, 0.132630096},
                              {1.0f, 0.841191991, 1.08296408},
                              {-1.0f, -0.158808009, -0.0829640838},
                              {3.0f, 2.99636261, 1.01158417},
                              {-3.0f, -0.00363739208, -0.0115841666},
                              {-5.0f, -2.2917962e-07, -1.54636199e-06},
                              {10.0f, 10.0, 1.0}};
  constexpr auto kCount = static_cast<int64_t>(std::size(kKnown));
  for (const auto body : {&GluBackwardHost, &GluBackwardReference}) {
    Arrays arrays(kCount, GluActivation::kGeluTanh);
    for (int64_t i = 0; i < kCount; ++i) {
      arrays.gate[i] = kKnown[i].gate;
      arrays.up[i] = arrays.gradient[i] = 1.0f;
    }
    KernelLane lane(1);
    ASSERT_TRUE(body(lane.context(), arrays.Backward()).ok());
    for (int64_t i = 0; i < kCount; ++i) {
      const auto& [gate, value, slope] = kKnown[i];
      const GeluError error(gate);
      // Nine digits are given.
      EXPECT_NEAR(arrays.output[i], value, std::fabs(value) * (error.value * kUnit + 5e-9)) << gate;
      EXPECT_EQ(std::signbit(arrays.output[i]), std::signbit(value)) << gate;
      EXPECT_EQ(arrays.up_gradient[i], arrays.output[i]) << gate;
      EXPECT_NEAR(arrays.gate_gradient[i], slope, error.slope * kUnit + 5e-9) << gate;
    }
  }
}

// Where the sigmoid is far from 1 the activation is small; its leading digits are right all the
// same, which 1 + tanh(u) in fp32 would not give.
TEST(Glu, GeluKeepsItsDigitsInTheTail) {
  Arrays arrays(1, GluActivation::kGeluTanh);
  arrays.gate[0] = -5.0f;
  arrays.up[0] = 1.0f;
  KernelLane lane(1);
  ASSERT_TRUE(GluForwardHost(lane.context(), arrays.Forward()).ok());
  EXPECT_NEAR(arrays.output[0], -2.2917962e-07, 2.2917962e-07 * 1e-5);
}

void ExpectSameBitsForAnyCut(GluActivation activation) {
  constexpr int64_t kCount = 40001;
  Arrays one(kCount, activation);
  KernelLane lane(1);
  ASSERT_TRUE(GluBackwardHost(lane.context(), one.Backward()).ok());
  for (const int workers : {2, 3, 5}) {
    KernelLane many(workers);
    Arrays here(kCount, activation);
    GluBackward backward = here.Backward();
    here.gate_gradient = here.gradient;
    backward.output_gradient = here.gate_gradient.data();  // in its place
    ASSERT_TRUE(GluBackwardHost(many.context(), backward).ok());
    EXPECT_TRUE(SameBits(here.output, one.output));
    EXPECT_TRUE(SameBits(here.gate_gradient, one.gate_gradient));
    EXPECT_TRUE(SameBits(here.up_gradient, one.up_gradient));
  }
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Arrays here(kCount, activation);
    for (int64_t first = 0; first < kCount;) {
      const auto count = std::min<int64_t>(kCount - first, static_cast<int64_t>(random() % 5000));
      ASSERT_TRUE(GluForwardHost(lane.context(), {.activation = activation,
                                                  .count = count,
                                                  .gate = here.gate.data() + first,
                                                  .up = here.up.data() + first,
                                                  .output = here.output.data() + first})
                      .ok());
      first += count;
    }
    EXPECT_TRUE(SameBits(here.output, one.output));
  }
}

TEST(Glu, BitsDoNotDependOnWorkersCutsOrPlaces) {
  for (const GluActivation activation : kActivations) ExpectSameBitsForAnyCut(activation);
}

TEST(Glu, LargeGatesDoNotOverflow) {
  constexpr float kGates[] = {-3e38f, -1e30f, -200.0f, -89.0f, 89.0f, 200.0f, 1e30f, 3e38f};
  for (const GluActivation activation : kActivations) {
    for (const auto body : {&GluBackwardHost, &GluBackwardReference}) {
      Arrays arrays(8, activation);
      for (int64_t i = 0; i < 8; ++i) {
        arrays.gate[i] = kGates[i];
        arrays.up[i] = arrays.gradient[i] = 0.5f;
      }
      KernelLane lane(1);
      ASSERT_TRUE(body(lane.context(), arrays.Backward()).ok());
      for (int64_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(arrays.output[i], 0.0f, 1e-30f);
        EXPECT_NEAR(arrays.gate_gradient[i], 0.0f, 1e-30f);
      }
      for (int64_t i = 4; i < 8; ++i) {
        EXPECT_EQ(arrays.output[i], 0.5f * arrays.gate[i]);
        EXPECT_EQ(arrays.up_gradient[i], 0.5f * arrays.gate[i]);
        EXPECT_EQ(arrays.gate_gradient[i], 0.25f);
      }
    }
  }
}

TEST(Glu, ANotANumberStaysOne) {
  for (const GluActivation activation : kActivations) {
    Arrays arrays(3, activation);
    arrays.gate[1] = std::numeric_limits<float>::quiet_NaN();
    KernelLane lane(1);
    ASSERT_TRUE(GluBackwardHost(lane.context(), arrays.Backward()).ok());
    EXPECT_TRUE(std::isnan(arrays.output[1]) && std::isnan(arrays.gate_gradient[1]));
    EXPECT_FALSE(std::isnan(arrays.output[0]) || std::isnan(arrays.output[2]));
  }
}

// With a step of 1e-4 in double the differences are exact to 1e-8; fp32 to 1e-5 at these sizes.
TEST(Glu, BackwardEqualsFiniteDifferences) {
  for (const GluActivation activation : kActivations) {
    Arrays arrays(101, activation);
    const auto forward = [&](double gate, double up) {
      if (activation == GluActivation::kSilu) return gate / (1 + std::exp(-gate)) * up;
      const double root = std::sqrt(2.0 / 3.14159265358979323846);
      return 0.5 * gate * (1 + std::tanh(root * (gate + 0.044715 * std::pow(gate, 3)))) * up;
    };
    for (const auto body : {&GluBackwardHost, &GluBackwardReference}) {
      KernelLane lane(1);
      GluBackward backward = arrays.Backward();
      backward.output = nullptr;
      ASSERT_TRUE(body(lane.context(), backward).ok());
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
}

}  // namespace
}  // namespace horizon
