#include "kernels/experts/router.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr RouterWeights kKinds[] = {RouterWeights::kSoftmaxOfAll, RouterWeights::kSoftmaxOfChosen};

struct Sizes {
  int64_t tokens;
  int64_t experts;
  int64_t per_token;
};
// One token, one expert, all experts, numbers around whole vectors, more than a worker's piece.
constexpr Sizes kSizes[] = {{0, 4, 2},   {1, 1, 1},    {1, 8, 8},     {5, 7, 3},    {33, 16, 4},
                            {40, 17, 1}, {19, 60, 60}, {300, 128, 8}, {131, 130, 5}};

struct Routed {
  RouterForward args;
  GuardedFloats logits;
  GuardedFloats bias;
  GuardedFloats probabilities;
  std::vector<int32_t> chosen;
  GuardedFloats weights;

  Routed(const Sizes& sizes, RouterWeights kind, uint32_t seed = 1)
      : Routed(sizes, kind, std::mt19937(seed)) {}
  Routed(const Sizes& sizes, RouterWeights kind, std::mt19937 random)
      : logits(RandomFloats(random, sizes.tokens * sizes.experts, 6.0f)),
        bias(RandomFloats(random, sizes.experts, 2.0f)),
        probabilities(sizes.tokens * sizes.experts),
        chosen(static_cast<size_t>(sizes.tokens * sizes.per_token) + 1, -7),
        weights(sizes.tokens * sizes.per_token) {
    args = {.kind = kind,
            .tokens = sizes.tokens,
            .experts = sizes.experts,
            .per_token = sizes.per_token,
            .logits = logits.data(),
            .probabilities = probabilities.data(),
            .chosen = chosen.data(),
            .weights = weights.data()};
  }
  Routed(const Routed&) = delete;

  float LogitOf(int64_t token, int64_t e) const {
    const float logit = logits[token * args.experts + e];
    return args.bias == nullptr ? logit : logit + bias[e];
  }
};

// By the definition: an expert is chosen if fewer than per_token others come before it.
std::vector<int32_t> ChosenOf(const std::vector<float>& logits, int64_t per_token) {
  const auto rank = [&](size_t e) { return std::isnan(logits[e]) ? -kInfinity : logits[e]; };
  std::vector<int32_t> chosen;
  for (size_t e = 0; e < logits.size(); ++e) {
    int64_t before = 0;
    for (size_t other = 0; other < logits.size(); ++other) {
      if (rank(other) > rank(e) || (rank(other) == rank(e) && other < e)) ++before;
    }
    if (before < per_token) chosen.push_back(static_cast<int32_t>(e));
  }
  return chosen;
}

std::vector<int32_t> Route(absl::Status (*body)(const KernelContext&, const RouterForward&),
                           const std::vector<float>& logits, int64_t per_token) {
  Routed routed({1, static_cast<int64_t>(logits.size()), per_token}, kKinds[0]);
  std::copy(logits.begin(), logits.end(), routed.logits.data());
  KernelLane lane(1);
  EXPECT_TRUE(body(lane.context(), routed.args).ok());
  EXPECT_EQ(routed.chosen.back(), -7) << "written past the end";
  routed.chosen.pop_back();
  return routed.chosen;
}

TEST(Router, HostEqualsTheReferenceOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    for (const Sizes& sizes : kSizes) {
      for (const RouterWeights kind : kKinds) {
        for (const bool biased : {false, true}) {
          Routed expected(sizes, kind);
          Routed host(sizes, kind);
          if (biased) {
            expected.args.bias = expected.bias.data();
            host.args.bias = host.bias.data();
          } else {
            host.args.probabilities = host.logits.data();  // in their place
          }
          KernelLane lane(2);
          ASSERT_TRUE(RouterForwardReference(lane.context(), expected.args).ok());
          ASSERT_TRUE(RouterForwardHost(lane.context(), host.args).ok());
          ASSERT_EQ(host.chosen, expected.chosen) << target;
          // A difference of logits of at most 16, its exponential, a sum over the experts in 16
          // lanes, and a quotient.
          const double bound = kUnit * (16 + 6 + 18 + static_cast<double>(sizes.experts) / 16);
          for (int64_t i = 0; i < host.weights.size(); ++i) {
            ASSERT_NEAR(host.weights[i], expected.weights[i], bound * expected.weights[i])
                << target << " " << sizes.experts << " experts";
          }
          for (int64_t i = 0; i < expected.probabilities.size(); ++i) {
            ASSERT_NEAR(host.args.probabilities[i], expected.probabilities[i],
                        bound * expected.probabilities[i])
                << target << " " << sizes.experts << " experts";
          }
          ASSERT_TRUE(host.probabilities.guards_hold() && host.weights.guards_hold() &&
                      host.logits.guards_hold());
        }
      }
    }
  });
}

// Logits 1, 3, 2, 3 with the bias 0, 0, 1.5, 0: the best two of 1, 3, 3.5, 3 are numbers 2 and 1.
TEST(Router, WeightsAreSharesOfTheSoftmax) {
  const double sum = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(3.5);
  for (const auto body : {&RouterForwardReference, &RouterForwardHost}) {
    for (const RouterWeights kind : kKinds) {
      Routed routed({1, 4, 2}, kind);
      const float logits[] = {1, 3, 2, 3};
      const float bias[] = {0, 0, 1.5, 0};
      std::copy_n(logits, 4, routed.logits.data());
      std::copy_n(bias, 4, routed.bias.data());
      routed.args.bias = routed.bias.data();
      KernelLane lane(1);
      ASSERT_TRUE(body(lane.context(), routed.args).ok());
      EXPECT_EQ(routed.chosen, (std::vector<int32_t>{1, 2, -7}));
      const double divisor =
          kind == RouterWeights::kSoftmaxOfAll ? sum : std::exp(3.0) + std::exp(3.5);
      EXPECT_NEAR(routed.weights[0], std::exp(3.0) / divisor, 20 * kUnit);
      EXPECT_NEAR(routed.weights[1], std::exp(3.5) / divisor, 20 * kUnit);
      EXPECT_NEAR(routed.probabilities[0], std::exp(1.0) / sum, 20 * kUnit);
      EXPECT_NEAR(routed.probabilities[3], std::exp(3.0) / sum, 20 * kUnit);
    }
  }
}

TEST(Router, ATieGoesToTheLowerNumber) {
  for (const auto body : {&RouterForwardReference, &RouterForwardHost}) {
    using Experts = std::vector<int32_t>;
    EXPECT_EQ(Route(body, {5, 5, 5, 5, 5}, 2), (Experts{0, 1}));
    EXPECT_EQ(Route(body, {1, 7, 3, 7, 3, 3}, 3), (Experts{1, 2, 3}));
    EXPECT_EQ(Route(body, {5, 5, 9}, 2), (Experts{0, 2}));
    EXPECT_EQ(Route(body, {0.0f, -0.0f, 0.0f}, 1), (Experts{0}));
    EXPECT_EQ(Route(body, {-0.0f, 0.0f}, 1), (Experts{0}));
    EXPECT_EQ(Route(body, {3, 2, 1, 0}, 4), (Experts{0, 1, 2, 3}));
  }
}

TEST(Router, ANotANumberIsChosenLastOfAll) {
  for (const auto body : {&RouterForwardReference, &RouterForwardHost}) {
    using Experts = std::vector<int32_t>;
    EXPECT_EQ(Route(body, {kNan, -1e30f, kNan, -5}, 2), (Experts{1, 3}));
    EXPECT_EQ(Route(body, {kNan, -1e30f, kNan, -5}, 3), (Experts{0, 1, 3}));
    EXPECT_EQ(Route(body, {kNan, kNan, kNan}, 2), (Experts{0, 1}));
    EXPECT_EQ(Route(body, {kNan, kNan, kNan}, 3), (Experts{0, 1, 2}));
    EXPECT_EQ(Route(body, {-kInfinity, kNan, 1}, 2), (Experts{0, 2}));
    EXPECT_EQ(Route(body, {kNan, -kInfinity, 1}, 2), (Experts{0, 2}));
    EXPECT_EQ(Route(body, {kInfinity, kNan, kInfinity}, 2), (Experts{0, 2}));
  }
}

// The numerics of a run are watched by its loss: a NaN must reach it.
TEST(Router, ANotANumberReachesTheWeights) {
  for (const auto body : {&RouterForwardReference, &RouterForwardHost}) {
    Routed routed({2, 5, 2}, RouterWeights::kSoftmaxOfAll);
    routed.logits[1] = kNan;
    KernelLane lane(1);
    ASSERT_TRUE(body(lane.context(), routed.args).ok());
    EXPECT_TRUE(std::isnan(routed.weights[0]) && std::isnan(routed.weights[1]));
    EXPECT_TRUE(std::isnan(routed.probabilities[0]) && std::isnan(routed.probabilities[4]));
    EXPECT_FALSE(std::isnan(routed.weights[2])) << "another token";
  }
}

RC_GTEST_PROP(RouterProperty, TheChosenAreTheBestWhateverTheLogitsAre, ()) {
  // Few values, so that there are many ties.
  const auto value = rc::gen::element(kNan, -kInfinity, -1.0f, -0.0f, 0.0f, 1.0f, 2.0f, kInfinity);
  const auto logits = *rc::gen::nonEmpty(rc::gen::container<std::vector<float>>(value));
  const auto per_token = *rc::gen::inRange<int64_t>(1, static_cast<int64_t>(logits.size()) + 1);
  const std::vector<int32_t> expected = ChosenOf(logits, per_token);
  RC_ASSERT(Route(RouterForwardReference, logits, per_token) == expected);
  RC_ASSERT(Route(RouterForwardHost, logits, per_token) == expected);
}

TEST(Router, BitsDoNotDependOnWorkersOrCuts) {
  const Sizes sizes = {300, 129, 6};
  for (const RouterWeights kind : kKinds) {
    Routed one(sizes, kind);
    KernelLane lane(1);
    ASSERT_TRUE(RouterForwardHost(lane.context(), one.args).ok());
    for (const int workers : {2, 3, 5}) {
      Routed many(sizes, kind);
      KernelLane lanes(workers);
      ASSERT_TRUE(RouterForwardHost(lanes.context(), many.args).ok());
      EXPECT_EQ(many.chosen, one.chosen);
      EXPECT_TRUE(SameBits(many.weights, one.weights));
      EXPECT_TRUE(SameBits(many.probabilities, one.probabilities));
    }
    Routed cut(sizes, kind);
    for (int64_t first = 0; first < sizes.tokens; first += 37) {
      RouterForward args = cut.args;
      args.tokens = std::min<int64_t>(37, sizes.tokens - first);
      args.logits += first * sizes.experts;
      args.probabilities += first * sizes.experts;
      args.chosen += first * sizes.per_token;
      args.weights += first * sizes.per_token;
      ASSERT_TRUE(RouterForwardHost(lane.context(), args).ok());
    }
    EXPECT_EQ(cut.chosen, one.chosen);
    EXPECT_TRUE(SameBits(cut.weights, one.weights));
  }
}

// ---- Backward ----

struct Gradients {
  RouterBackward args;
  Routed routed;
  GuardedFloats of_weights;
  GuardedFloats of_probabilities;
  std::vector<TokenRecord> records;
  GuardedFloats of_logits;

  Gradients(const Sizes& sizes, RouterWeights kind, bool has_loss)
      : Gradients(sizes, kind, has_loss, std::mt19937(5)) {}
  Gradients(const Sizes& sizes, RouterWeights kind, bool has_loss, std::mt19937 random)
      : routed(sizes, kind),
        of_weights(RandomFloats(random, sizes.tokens * sizes.per_token)),
        of_probabilities(RandomFloats(random, sizes.experts)),
        records(static_cast<size_t>(sizes.tokens)),
        of_logits(sizes.tokens * sizes.experts, 3.0f) {
    // A third is padding, and a third has no label, which is something else.
    for (size_t t = 0; t < records.size(); ++t) {
      records[t].label = t % 3 == 0 ? kPaddingLabel : t % 3 == 1 ? -100 : 5;
    }
    KernelLane lane(1);
    EXPECT_TRUE(RouterForwardReference(lane.context(), routed.args).ok());
    args = {.kind = kind,
            .tokens = sizes.tokens,
            .experts = sizes.experts,
            .per_token = sizes.per_token,
            .probabilities = routed.probabilities.data(),
            .chosen = routed.chosen.data(),
            .weights = routed.weights.data(),
            .weight_gradient = of_weights.data(),
            .probability_gradient = has_loss ? of_probabilities.data() : nullptr,
            .records = has_loss ? records.data() : nullptr,
            .logit_gradient = of_logits.data()};
  }

  // What is differentiated: the sum of all weights and probabilities times their gradients, for one
  // token, with the experts that were chosen.
  double Loss(int64_t token, const std::vector<double>& logits) const {
    double of_all = 0;
    double of_chosen = 0;
    const int32_t* chosen = routed.chosen.data() + token * args.per_token;
    for (const double logit : logits) of_all += std::exp(logit);
    for (int64_t i = 0; i < args.per_token; ++i) {
      of_chosen += std::exp(logits[static_cast<size_t>(chosen[i])]);
    }
    const double divisor = args.kind == RouterWeights::kSoftmaxOfAll ? of_all : of_chosen;
    double loss = 0;
    for (int64_t i = 0; i < args.per_token; ++i) {
      loss += std::exp(logits[static_cast<size_t>(chosen[i])]) / divisor *
              of_weights[token * args.per_token + i];
    }
    if (args.probability_gradient == nullptr || token % 3 == 0) return loss;
    for (size_t e = 0; e < logits.size(); ++e) {
      loss += std::exp(logits[e]) / of_all * of_probabilities[static_cast<int64_t>(e)];
    }
    return loss;
  }
};

// Differences of steps of 1e-4 in double are exact to 1e-8; fp32 to 1e-6 at these sizes.
TEST(RouterBackward, EqualsFiniteDifferences) {
  for (const RouterWeights kind : kKinds) {
    for (const bool has_loss : {false, true}) {
      for (const Sizes& sizes : {Sizes{7, 5, 2}, Sizes{4, 33, 33}, Sizes{3, 1, 1}}) {
        Gradients gradients(sizes, kind, has_loss);
        for (const auto body : {&RouterBackwardReference, &RouterBackwardHost}) {
          KernelLane lane(1);
          ASSERT_TRUE(body(lane.context(), gradients.args).ok());
          for (int64_t token = 0; token < sizes.tokens; ++token) {
            std::vector<double> logits;
            for (int64_t e = 0; e < sizes.experts; ++e) {
              logits.push_back(gradients.routed.LogitOf(token, e));
            }
            for (size_t e = 0; e < logits.size(); ++e) {
              const double logit = logits[e];
              logits[e] = logit + 1e-4;
              const double above = gradients.Loss(token, logits);
              logits[e] = logit - 1e-4;
              const double below = gradients.Loss(token, logits);
              logits[e] = logit;
              const int64_t at = token * sizes.experts + static_cast<int64_t>(e);
              ASSERT_NEAR(gradients.of_logits[at], (above - below) / 2e-4, 2e-6)
                  << "token " << token << ", expert " << e << " of " << sizes.experts;
            }
          }
        }
      }
    }
  }
}

TEST(RouterBackward, HostEqualsTheReferenceOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    for (const Sizes& sizes : kSizes) {
      for (const RouterWeights kind : kKinds) {
        for (const bool has_loss : {false, true}) {
          Gradients expected(sizes, kind, has_loss);
          Gradients host(sizes, kind, has_loss);
          KernelLane lane(2);
          ASSERT_TRUE(RouterBackwardReference(lane.context(), expected.args).ok());
          ASSERT_TRUE(RouterBackwardHost(lane.context(), host.args).ok());
          for (int64_t i = 0; i < host.of_logits.size(); ++i) {
            // p (g - mean): the gradients are at most 1 and the mean of them is a sum of products.
            const double p = host.routed.probabilities[i];
            const double scale = kind == RouterWeights::kSoftmaxOfAll ? 3 * p : 1 + 2 * p;
            ASSERT_NEAR(host.of_logits[i], expected.of_logits[i],
                        kUnit * scale * (24 + static_cast<double>(sizes.experts) / 8))
                << target << " " << i;
          }
          ASSERT_TRUE(host.of_logits.guards_hold());
        }
      }
    }
  });
}

TEST(RouterBackward, PaddingHasNoGradientOfTheLoss) {
  const Sizes sizes = {9, 20, 3};
  for (const RouterWeights kind : kKinds) {
    for (const auto body : {&RouterBackwardReference, &RouterBackwardHost}) {
      Gradients without(sizes, kind, false);
      Gradients with(sizes, kind, true);
      KernelLane lane(1);
      ASSERT_TRUE(body(lane.context(), without.args).ok());
      ASSERT_TRUE(body(lane.context(), with.args).ok());
      for (int64_t token = 0; token < sizes.tokens; ++token) {
        bool equal = true;
        for (int64_t e = 0; e < sizes.experts; ++e) {
          const int64_t at = token * sizes.experts + e;
          equal = equal && without.of_logits[at] == with.of_logits[at];
        }
        EXPECT_EQ(equal, token % 3 == 0) << token;
      }
    }
  }
}

TEST(RouterBackward, BitsDoNotDependOnWorkers) {
  const Sizes sizes = {300, 129, 6};
  for (const RouterWeights kind : kKinds) {
    Gradients one(sizes, kind, true);
    KernelLane lane(1);
    ASSERT_TRUE(RouterBackwardHost(lane.context(), one.args).ok());
    for (const int workers : {2, 5}) {
      Gradients many(sizes, kind, true);
      KernelLane lanes(workers);
      ASSERT_TRUE(RouterBackwardHost(lanes.context(), many.args).ok());
      EXPECT_TRUE(SameBits(many.of_logits, one.of_logits));
    }
  }
}

// ---- Statistics ----

TEST(RouterStatistics, CountEachExpertAndAddItsProbabilitiesButNotThoseOfPadding) {
  for (const Sizes& sizes : kSizes) {
    Gradients routed(sizes, RouterWeights::kSoftmaxOfAll, true);
    // Of so many magnitudes that sums in another order have other bits.
    std::mt19937 random(8);
    for (float& p : routed.routed.probabilities.span()) {
      p = std::ldexp(p, -static_cast<int>(random() % 60));
    }
    const RouterForward& forward = routed.routed.args;
    std::vector<int64_t> counts(static_cast<size_t>(sizes.experts), 0);
    std::vector<double> sums(counts.size(), 0.0);
    for (int64_t tile = 0; tile < sizes.tokens; tile += 64) {
      std::vector<double> of_tile(counts.size(), 0.0);
      for (int64_t t = tile; t < std::min(sizes.tokens, tile + 64); ++t) {
        if (routed.records[static_cast<size_t>(t)].label == kPaddingLabel) continue;
        for (size_t e = 0; e < counts.size(); ++e) {
          of_tile[e] += double{forward.probabilities[t * sizes.experts + static_cast<int64_t>(e)]};
        }
        for (int64_t i = 0; i < sizes.per_token; ++i) {
          ++counts[static_cast<size_t>(forward.chosen[t * sizes.per_token + i])];
        }
      }
      for (size_t e = 0; e < counts.size(); ++e) sums[e] += of_tile[e];
    }
    for (const auto body : {&RouterStatisticsReference, &RouterStatisticsHost}) {
      for (const int workers : {1, 3}) {
        KernelLane lane(workers);
        std::vector<int64_t> actual_counts(counts.size() + 1, 77);
        std::vector<double> actual_sums(counts.size() + 1, 77.0);
        ASSERT_TRUE(body(lane.context(), {.tokens = sizes.tokens,
                                          .experts = sizes.experts,
                                          .per_token = sizes.per_token,
                                          .records = routed.records.data(),
                                          .probabilities = forward.probabilities,
                                          .chosen = forward.chosen,
                                          .counts = actual_counts.data(),
                                          .probability_sums = actual_sums.data()})
                        .ok());
        EXPECT_EQ(actual_counts.back(), 77);
        EXPECT_EQ(actual_sums.back(), 77.0);
        actual_counts.pop_back();
        actual_sums.pop_back();
        EXPECT_EQ(actual_counts, counts);
        EXPECT_EQ(actual_sums, sums) << "the order of additions is part of the contract";
      }
    }
  }
}

TEST(RouterLossGradient, ScalesTheCountsOfAllLayers) {
  // Layers begin 5 apart; what lies between them is not read.
  const std::vector<int64_t> counts = {1,     20,    300, -1000, -1000,           4, 50, 600,
                                       -1000, -1000, 7,   80,    int64_t{1} << 40};
  for (const auto body : {&RouterLossGradientReference, &RouterLossGradientHost}) {
    GuardedFloats gradient(3);
    KernelLane lane(1);
    ASSERT_TRUE(body(lane.context(), {.layers = 3,
                                      .experts = 3,
                                      .counts = counts.data(),
                                      .layer_stride = 5,
                                      .scale = 0.1,
                                      .gradient = gradient.data()})
                    .ok());
    EXPECT_EQ(gradient[0], static_cast<float>(0.1 * 12));
    EXPECT_EQ(gradient[1], static_cast<float>(0.1 * 150));
    EXPECT_EQ(gradient[2], static_cast<float>(0.1 * static_cast<double>((int64_t{1} << 40) + 900)));
    EXPECT_TRUE(gradient.guards_hold());
  }
}

TEST(Router, ImpossibleSizesAreRefusedWithTheirValues) {
  KernelLane lane(1);
  for (const Sizes& bad : {Sizes{-1, 4, 2}, Sizes{3, 0, 1}, Sizes{3, 4, 0}, Sizes{3, 4, 5}}) {
    const auto expect_refused = [&](const absl::Status& status) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_NE(status.message().find(std::to_string(bad.per_token)), std::string::npos) << status;
    };
    expect_refused(RouterForwardHost(
        lane.context(),
        {.tokens = bad.tokens, .experts = bad.experts, .per_token = bad.per_token}));
    expect_refused(RouterBackwardHost(
        lane.context(),
        {.tokens = bad.tokens, .experts = bad.experts, .per_token = bad.per_token}));
    expect_refused(RouterStatisticsHost(
        lane.context(),
        {.tokens = bad.tokens, .experts = bad.experts, .per_token = bad.per_token}));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      RouterLossGradientHost(lane.context(), {.layers = 2, .experts = 3, .layer_stride = 2})));
  EXPECT_TRUE(absl::IsInvalidArgument(
      RouterLossGradientHost(lane.context(), {.layers = -1, .experts = 3, .layer_stride = 3})));
}

}  // namespace
}  // namespace horizon
