#include "kernels/attention/sink_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// A log-sum-exp is never below the sink.
struct Inputs {
  int64_t tokens, heads;
  GuardedFloats sinks, log_sum_exp, output_dot;

  Inputs(std::mt19937& random, int64_t the_tokens, int64_t the_heads)
      : tokens(the_tokens),
        heads(the_heads),
        sinks(RandomFloats(random, heads, 3)),
        log_sum_exp(RandomFloats(random, tokens * heads)),
        output_dot(RandomFloats(random, tokens * heads)) {
    for (int64_t i = 0; i < log_sum_exp.size(); ++i) {
      log_sum_exp[i] = sinks[i % heads] + 2 * std::fabs(log_sum_exp[i]);
    }
  }
  SinkGradient Args(const GradientOut& gradient) const {
    return {.tokens = tokens,
            .heads = heads,
            .sinks = sinks.data(),
            .log_sum_exp = log_sum_exp.data(),
            .output_dot = output_dot.data(),
            .gradient = gradient};
  }
};

std::vector<std::pair<int64_t, int64_t>> Sizes() {
  return {{0, 1}, {1, 1}, {1, 64}, {63, 5}, {64, 16}, {65, 17}, {200, 33}, {1000, 7}, {5, 0}};
}

TEST(SinkGradient, HostMatchesTheReferenceOnEveryTarget) {
  std::mt19937 random(1);
  for (const auto& [tokens, heads] : Sizes()) {
    const Inputs in(random, tokens, heads);
    GuardedFloats exact(heads);
    ASSERT_TRUE(SinkGradientReference({}, in.Args({.sum = exact.data()})).ok());
    ForEachTarget([&, tokens = tokens, heads = heads](const char* target) {
      GuardedFloats host(heads, 5.0f);
      KernelLane lane(2);
      ASSERT_TRUE(SinkGradientHost(lane.context(), in.Args({.sum = host.data()})).ok());
      for (int64_t i = 0; i < heads; ++i) {
        // Terms of at most 1: of each a few roundings of its exponential, and 64 sums of a tile.
        ASSERT_NEAR(host[i], exact[i], kEpsilon * (8 + 64) * static_cast<double>(tokens))
            << target << ", " << tokens << " tokens, head " << i << " of " << heads;
      }
      EXPECT_TRUE(host.guards_hold());
    });
  }
}

// With probabilities of exactly 1 every sum is known to the last bit.
TEST(SinkGradient, HasTheOrderOfSumsTheHeaderStates) {
  std::mt19937 random(2);
  for (const auto& [tokens, heads] : Sizes()) {
    Inputs in(random, tokens, heads);
    for (int64_t i = 0; i < in.log_sum_exp.size(); ++i) in.log_sum_exp[i] = in.sinks[i % heads];
    GuardedFloats expected(heads);
    for (int64_t head = 0; head < heads; ++head) {
      double total = 0;
      for (int64_t first = 0; first < tokens; first += 64) {
        float sum = 0;
        for (int64_t t = first; t < std::min(first + 64, tokens); ++t) {
          sum -= in.output_dot[t * heads + head];
        }
        total += double{sum};
      }
      expected[head] = static_cast<float>(total);
    }
    for (const int workers : {1, 3}) {
      KernelLane lane(workers);
      GuardedFloats sum(heads, 5.0f);
      ASSERT_TRUE(SinkGradientHost(lane.context(), in.Args({.sum = sum.data()})).ok());
      EXPECT_TRUE(SameBits(sum, expected)) << tokens << " tokens, " << heads << " heads";
      EXPECT_TRUE(sum.guards_hold());
      GuardedFloats added(heads, 5.0f);
      ASSERT_TRUE(SinkGradientHost(lane.context(),
                                   in.Args({.sum = added.data(), .add = true, .rounded = true}))
                      .ok());
      std::vector<uint16_t> halves(static_cast<size_t>(heads));
      ASSERT_TRUE(SinkGradientHost(lane.context(), in.Args({.bf16 = halves.data()})).ok());
      for (int64_t head = 0; head < heads; ++head) {
        EXPECT_EQ(halves[static_cast<size_t>(head)], Narrowed(expected[head]));
        EXPECT_EQ(added[head], 5.0f + Widened(Narrowed(expected[head])));
      }
    }
  }
}

TEST(SinkGradient, WhatCannotBeSummedIsRefused) {
  KernelLane lane(1);
  float number = 0;
  const SinkGradient one{.tokens = 1,
                         .heads = 1,
                         .sinks = &number,
                         .log_sum_exp = &number,
                         .output_dot = &number,
                         .gradient = {.sum = &number}};
  EXPECT_TRUE(SinkGradientHost(lane.context(), one).ok());
  for (int broken = 0; broken < 3; ++broken) {
    SinkGradient args = one;
    if (broken == 0) args.tokens = -1;
    if (broken == 1) args.heads = -1;
    if (broken == 2) args.sinks = {};
    EXPECT_TRUE(absl::IsInvalidArgument(SinkGradientHost(lane.context(), args))) << broken;
  }
}

}  // namespace
}  // namespace horizon
