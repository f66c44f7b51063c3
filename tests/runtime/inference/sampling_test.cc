#include "runtime/inference/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "common/failure_source.h"
#include "gtest/gtest.h"

namespace horizon {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int32_t Choose(const std::vector<float>& logits, const SamplingOptions& options,
               const DrawPlace& place = {}, const std::vector<int32_t>& before = {}) {
  const absl::StatusOr<int32_t> id = ChooseToken(logits, before, options, place);
  EXPECT_TRUE(id.ok()) << id.status();
  return id.value_or(-1);
}

std::vector<float> RandomLogits(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

// What is kept and with which share, from the definition: all tokens sorted, one after the other.
std::vector<double> Shares(const std::vector<float>& logits, const SamplingOptions& options) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (options.top_k > 0) {
    order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  }
  const auto weight = [&](size_t i) {
    return std::exp((double{logits[i]} - double{logits[order[0]]}) / options.temperature);
  };
  double total = 0;
  for (const size_t i : order) total += weight(i);
  std::vector<double> shares(logits.size());
  double kept = 0;
  for (const size_t i : order) {
    shares[i] = weight(i);
    kept += weight(i);
    if (options.top_p < 1 && kept >= options.top_p * total) break;
  }
  for (double& share : shares) share /= kept;
  return shares;
}

TEST(Sampling, WithoutTemperatureTheLikeliestIsChosen) {
  EXPECT_EQ(Choose({1.0f, 5.0f, 2.0f}, {}), 1);
  EXPECT_EQ(Choose({-3.0f}, {}), 0);
  EXPECT_EQ(Choose({2.0f, 7.0f, 7.0f}, {.seed = 3}), 1) << "the lower id of equals";
  EXPECT_EQ(Choose({-kInfinity, -1e30f}, {}), 1);
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> logits = RandomLogits(1 + seed * 7, seed);
    EXPECT_EQ(Choose(logits, {.top_k = 3, .top_p = 0.5, .seed = seed}),
              std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
}

TEST(Sampling, ADrawDependsOnSeedTextAndPositionAlone) {
  const std::vector<float> logits(1000, 1.0f);
  const SamplingOptions options{.temperature = 1, .seed = 4};
  std::set<int32_t> seen;
  for (uint64_t text = 0; text < 10; ++text) {
    for (uint64_t position = 0; position < 10; ++position) {
      const int32_t id = Choose(logits, options, {text, position});
      EXPECT_EQ(id, Choose(logits, options, {text, position}));
      seen.insert(id);
    }
  }
  // 100 draws of 1000: about 95 different ones.
  EXPECT_GT(seen.size(), 80u);
  SamplingOptions other = options;
  other.seed = 5;
  int same = 0;
  for (uint64_t position = 0; position < 100; ++position) {
    same += Choose(logits, options, {0, position}) == Choose(logits, other, {0, position}) ? 1 : 0;
  }
  EXPECT_LT(same, 10);
}

// Chi-square with as many degrees of freedom as tokens that are expected 5 times at least, less
// one: mean d, variance 2 d. Six deviations pass by luck once in a thousand million times, and the
// seed is fixed.
TEST(Sampling, TokensComeAsOftenAsTheyAreLikely) {
  constexpr int kDraws = 20'000;
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 1}, SamplingOptions{.temperature = 0.5},
        SamplingOptions{.temperature = 2, .top_k = 7},
        SamplingOptions{.temperature = 1.5, .top_p = 0.8},
        SamplingOptions{.temperature = 3, .top_k = 20, .top_p = 0.6},
        SamplingOptions{.temperature = 1, .seed = 77}}) {
    const std::vector<float> logits = RandomLogits(50, 1);
    const std::vector<double> shares = Shares(logits, options);
    std::vector<int> counts(logits.size());
    for (uint64_t i = 0; i < kDraws; ++i) {
      ++counts[static_cast<size_t>(Choose(logits, options, {.text = 3, .position = i}))];
    }
    double chi_square = 0;
    int freedom = -1;
    for (size_t i = 0; i < shares.size(); ++i) {
      const double expected = shares[i] * kDraws;
      if (shares[i] == 0) {
        EXPECT_EQ(counts[i], 0) << i;
      }
      if (expected < 5) continue;
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
      ++freedom;
    }
    EXPECT_GT(freedom, 1);
    EXPECT_LT(chi_square, freedom + 6 * std::sqrt(2.0 * freedom));
  }
}

// Over vocabularies that need one and several rounds of sorting.
TEST(Sampling, TopPKeepsTheFewestThatHaveTheShare) {
  for (const size_t vocab : {1u, 2u, 63u, 64u, 65u, 300u, 5000u}) {
    for (const double top_p : {1e-9, 0.1, 0.5, 0.9, 0.999, 1.0}) {
      const std::vector<float> logits = RandomLogits(vocab, static_cast<uint32_t>(vocab));
      const SamplingOptions options{.temperature = 4, .top_p = top_p, .seed = 1};
      const std::vector<double> shares = Shares(logits, options);
      for (uint64_t i = 0; i < 300; ++i) {
        const int32_t id = Choose(logits, options, {.position = i});
        ASSERT_GT(shares[static_cast<size_t>(id)], 0.0) << "token " << id << ", top_p " << top_p;
      }
    }
  }
}

TEST(Sampling, TopKOfOneIsGreedy) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> logits = RandomLogits(200, seed);
    EXPECT_EQ(Choose(logits, {.temperature = 10, .top_k = 1, .seed = seed}), Choose(logits, {}));
    EXPECT_EQ(Choose(logits, {.temperature = 10, .top_p = 1e-12, .seed = seed}),
              Choose(logits, {}));
  }
  // Of equals the lower id stays.
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_LT(Choose({3.0f, 3.0f, 3.0f, 3.0f}, {.temperature = 1, .top_k = 2}, {.position = i}), 2);
  }
}

TEST(Sampling, ATinyTemperatureIsGreedyAndDoesNotOverflow) {
  EXPECT_EQ(Choose({-1e30f, 3e38f, 0.0f}, {.temperature = 1e-300}), 1);
}

TEST(Sampling, ThePenaltyMakesWhatWasThereLessLikely) {
  const SamplingOptions options{.repetition_penalty = 2};
  EXPECT_EQ(Choose({4.0f, 3.0f}, options, {}, {0}), 1);
  EXPECT_EQ(Choose({4.0f, 3.0f}, options, {}, {0, 0, 1}), 0) << "each id once: 2 and 1.5";
  EXPECT_EQ(Choose({-4.0f, -5.0f}, options, {}, {0}), 1) << "-8 and -5";
  EXPECT_EQ(Choose({4.0f, 3.0f}, options, {}, {-1, 7}), 0) << "ids of no token";
  EXPECT_EQ(Choose({4.0f, 3.0f}, {.repetition_penalty = 1}, {}, {0}), 0);
}

TEST(Sampling, WhatIsNoNumberIsAFailureOfNumerics) {
  for (const std::vector<float>& logits :
       {std::vector<float>{1.0f, std::nanf("")}, {kInfinity, 0.0f}, {-kInfinity, -kInfinity}}) {
    for (const double temperature : {0.0, 1.0}) {
      const absl::Status status =
          ChooseToken(logits, {}, {.temperature = temperature}, {}).status();
      EXPECT_TRUE(absl::IsInternal(status)) << status;
      EXPECT_EQ(FailureSourceOf(status), FailureSource::kNumerics);
    }
  }
}

TEST(Sampling, OptionsOutOfRangeAreRefused) {
  EXPECT_TRUE(ValidateSampling({}).ok());
  EXPECT_TRUE(ValidateSampling({.temperature = 100, .top_k = 5, .top_p = 1e-9}).ok());
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = -0.1}, SamplingOptions{.temperature = nan},
        SamplingOptions{.temperature = infinity}, SamplingOptions{.top_k = -1},
        SamplingOptions{.top_p = 0}, SamplingOptions{.top_p = 1.1}, SamplingOptions{.top_p = nan},
        SamplingOptions{.repetition_penalty = 0}, SamplingOptions{.repetition_penalty = -1},
        SamplingOptions{.repetition_penalty = infinity},
        SamplingOptions{.repetition_penalty = nan}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateSampling(options)));
  }
}

}  // namespace
}  // namespace horizon
