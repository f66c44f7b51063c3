#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/experts/router.h"

namespace horizon {
namespace {

// What a logit counts as when experts are chosen.
double Rank(double logit) {
  return std::isnan(logit) ? -std::numeric_limits<double>::infinity() : logit;
}

// The experts with the largest logits, in ascending order of their numbers.
std::vector<int32_t> Choose(const std::vector<double>& logits, int64_t per_token) {
  std::vector<int32_t> experts(logits.size());
  for (size_t e = 0; e < experts.size(); ++e) experts[e] = static_cast<int32_t>(e);
  std::stable_sort(experts.begin(), experts.end(), [&](int32_t a, int32_t b) {
    return Rank(logits[static_cast<size_t>(a)]) > Rank(logits[static_cast<size_t>(b)]);
  });
  experts.resize(static_cast<size_t>(per_token));
  std::sort(experts.begin(), experts.end());
  return experts;
}

void RouteToken(const RouterForward& args, int64_t token) {
  std::vector<double> logits(static_cast<size_t>(args.experts));
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t e = 0; e < args.experts; ++e) {
    // The logit of all bodies is the fp32 sum, so that all choose the same experts.
    const float bias = args.bias == nullptr ? -0.0f : args.bias[e];
    const float logit = args.logits[token * args.experts + e] + bias;
    logits[static_cast<size_t>(e)] = logit;
    largest = std::max(largest, Rank(logit));
  }
  const std::vector<int32_t> chosen = Choose(logits, args.per_token);
  const auto exp_of = [&](int64_t e) { return std::exp(logits[static_cast<size_t>(e)] - largest); };
  double of_all = 0.0;
  double of_chosen = 0.0;
  for (int64_t e = 0; e < args.experts; ++e) of_all += exp_of(e);
  for (const int32_t e : chosen) of_chosen += exp_of(e);
  const double divisor = args.kind == RouterWeights::kSoftmaxOfAll ? of_all : of_chosen;
  for (int64_t i = 0; i < args.per_token; ++i) {
    const int32_t e = chosen[static_cast<size_t>(i)];
    args.chosen[token * args.per_token + i] = e;
    args.weights[token * args.per_token + i] = static_cast<float>(exp_of(e) / divisor);
  }
  for (int64_t e = 0; e < args.experts; ++e) {
    args.probabilities[token * args.experts + e] = static_cast<float>(exp_of(e) / of_all);
  }
}

// The softmax p of some logits turns a gradient g of p into one of the logits: p (g - p . g).
void DifferentiateToken(const RouterBackward& args, int64_t token) {
  const float* probabilities = args.probabilities + token * args.experts;
  const int32_t* chosen = args.chosen + token * args.per_token;
  const float* weights = args.weights + token * args.per_token;
  const float* weight_gradient = args.weight_gradient + token * args.per_token;
  const bool has_loss =
      args.probability_gradient != nullptr && args.records[token].label != kPaddingLabel;
  std::vector<double> of_all(static_cast<size_t>(args.experts), 0.0);
  std::vector<double> result(static_cast<size_t>(args.experts), 0.0);
  for (int64_t e = 0; has_loss && e < args.experts; ++e) {
    of_all[static_cast<size_t>(e)] = args.probability_gradient[e];
  }
  if (args.kind == RouterWeights::kSoftmaxOfAll) {
    for (int64_t i = 0; i < args.per_token; ++i) {
      of_all[static_cast<size_t>(chosen[i])] += weight_gradient[i];
    }
  } else {
    double mean = 0.0;
    for (int64_t i = 0; i < args.per_token; ++i) mean += double{weights[i]} * weight_gradient[i];
    for (int64_t i = 0; i < args.per_token; ++i) {
      result[static_cast<size_t>(chosen[i])] = weights[i] * (weight_gradient[i] - mean);
    }
  }
  double mean = 0.0;
  for (int64_t e = 0; e < args.experts; ++e) {
    mean += probabilities[e] * of_all[static_cast<size_t>(e)];
  }
  for (int64_t e = 0; e < args.experts; ++e) {
    const auto at = static_cast<size_t>(e);
    result[at] += probabilities[e] * (of_all[at] - mean);
    args.logit_gradient[token * args.experts + e] = static_cast<float>(result[at]);
  }
}

}  // namespace

absl::Status RouterForwardReference(const KernelContext&, const RouterForward& args) {
  for (int64_t token = 0; token < args.tokens; ++token) RouteToken(args, token);
  return absl::OkStatus();
}

absl::Status RouterBackwardReference(const KernelContext&, const RouterBackward& args) {
  for (int64_t token = 0; token < args.tokens; ++token) DifferentiateToken(args, token);
  return absl::OkStatus();
}

absl::Status RouterStatisticsReference(const KernelContext&, const RouterStatistics& args) {
  const auto counts = [&](int64_t token) { return args.records[token].label != kPaddingLabel; };
  for (int64_t e = 0; e < args.experts; ++e) {
    args.counts[e] = 0;
    args.probability_sums[e] = 0.0;
    for (int64_t tile = 0; tile < args.tokens; tile += kRouterTileTokens) {
      double sum = 0.0;
      for (int64_t t = tile; t < std::min(args.tokens, tile + kRouterTileTokens); ++t) {
        if (counts(t)) sum += double{args.probabilities[t * args.experts + e]};
      }
      args.probability_sums[e] += sum;
    }
  }
  for (int64_t t = 0; t < args.tokens; ++t) {
    for (int64_t i = 0; i < args.per_token && counts(t); ++i) {
      ++args.counts[args.chosen[t * args.per_token + i]];
    }
  }
  return absl::OkStatus();
}

absl::Status RouterLossGradientReference(const KernelContext&, const RouterLossGradient& args) {
  for (int64_t e = 0; e < args.experts; ++e) {
    int64_t sum = 0;
    for (int64_t layer = 0; layer < args.layers; ++layer) {
      sum += args.counts[layer * args.layer_stride + e];
    }
    args.gradient[e] = static_cast<float>(args.scale * static_cast<double>(sum));
  }
  return absl::OkStatus();
}

}  // namespace horizon
