#include <algorithm>
#include <cmath>
#include <limits>

#include "common/text/str_cat.h"
#include "kernels/experts/router.h"
#include "kernels/host/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/experts/router_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

#ifndef HORIZON_KERNELS_ROUTER_HOST_ONCE
#define HORIZON_KERNELS_ROUTER_HOST_ONCE
namespace horizon {
namespace {

// What a logit counts as when experts are chosen.
float Rank(float logit) {
  return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
}

// Puts the experts with the largest logits into `chosen`, in ascending order of their numbers.
// Returns the largest logit.
float Choose(const float* logits, int64_t experts, int64_t per_token, int32_t* chosen) {
  // The best ones so far, in descending order of their logits; of equal logits the first one comes
  // first. An expert is put behind all that are as good.
  for (int64_t e = 0; e < experts; ++e) {
    const float rank = Rank(logits[e]);
    if (e >= per_token && !(rank > Rank(logits[chosen[per_token - 1]]))) continue;
    int64_t place = std::min(e, per_token - 1);
    for (; place > 0 && Rank(logits[chosen[place - 1]]) < rank; --place) {
      chosen[place] = chosen[place - 1];
    }
    chosen[place] = static_cast<int32_t>(e);
  }
  const float largest = Rank(logits[chosen[0]]);
  std::sort(chosen, chosen + per_token);
  return largest;
}

}  // namespace
}  // namespace horizon
#endif

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// row = logits + bias.
void AddBias(const float* logits, const float* bias, int64_t count, float* row) {
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    F32Vec logit = LoadPart(F32(), logits + i, n);
    if (bias != nullptr) logit = hn::Add(logit, LoadPart(F32(), bias + i, n));
    StorePart(F32(), logit, row + i, n);
  });
}

void Divide(float divisor, int64_t count, float* row) {
  const F32Vec divisors = hn::Set(F32(), divisor);
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(F32(), hn::Div(LoadPart(F32(), row + i, n), divisors), row + i, n);
  });
}

// The row of probabilities holds the logits first, and then their exponentials.
void RouteTokens(const RouterForward& args, int64_t first, int64_t count) {
  const float* bias = args.bias;
  for (int64_t token = first; token < first + count; ++token) {
    float* row = args.probabilities + token * args.experts;
    int32_t* chosen = args.chosen + token * args.per_token;
    float* weights = args.weights + token * args.per_token;
    AddBias(args.logits + token * args.experts, bias, args.experts, row);
    const float largest = Choose(row, args.experts, args.per_token, chosen);
    const float of_all = ExpShifted(row, largest, args.experts, row);
    float divisor = of_all;
    if (args.kind == RouterWeights::kSoftmaxOfChosen) {
      divisor = 0.0f;
      for (int64_t i = 0; i < args.per_token; ++i) divisor += row[chosen[i]];
    }
    for (int64_t i = 0; i < args.per_token; ++i) weights[i] = row[chosen[i]] / divisor;
    Divide(of_all, args.experts, row);
  }
}

// result[e] = p[e] (g[e] - mean), where g is null (0) or the gradient of the probabilities.
void Differentiate(const float* probabilities, const float* gradient, float mean, int64_t count,
                   float* result) {
  const F32 f32;
  const F32Vec means = hn::Set(f32, mean);
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec g = gradient == nullptr ? hn::Zero(f32) : LoadPart(f32, gradient + i, n);
    const F32Vec p = LoadPart(f32, probabilities + i, n);
    StorePart(f32, hn::Mul(p, hn::Sub(g, means)), result + i, n);
  });
}

// The softmax p of some logits turns a gradient g of p into one of the logits: p (g - p . g).
void DifferentiateToken(const RouterBackward& args, int64_t token) {
  const float* probabilities = args.probabilities + token * args.experts;
  const int32_t* chosen = args.chosen + token * args.per_token;
  const float* weights = args.weights + token * args.per_token;
  const float* weight_gradient = args.weight_gradient + token * args.per_token;
  float* result = args.logit_gradient + token * args.experts;
  const bool has_loss =
      args.probability_gradient != nullptr && args.records[token].label != kPaddingLabel;
  const float* of_loss = has_loss ? args.probability_gradient : nullptr;
  const float loss_mean = has_loss ? Dot(probabilities, of_loss, args.experts) : 0.0f;
  float mean = 0.0f;
  for (int64_t i = 0; i < args.per_token; ++i) mean += weights[i] * weight_gradient[i];
  if (args.kind == RouterWeights::kSoftmaxOfAll) {
    // The weights are probabilities: one softmax has both gradients.
    const float mean_of_both = loss_mean + mean;
    Differentiate(probabilities, of_loss, mean_of_both, args.experts, result);
    for (int64_t i = 0; i < args.per_token; ++i) {
      const float g = (has_loss ? of_loss[chosen[i]] : 0.0f) + weight_gradient[i];
      result[chosen[i]] = weights[i] * (g - mean_of_both);
    }
    return;
  }
  if (has_loss) {
    Differentiate(probabilities, of_loss, loss_mean, args.experts, result);
  } else {
    std::fill_n(result, args.experts, 0.0f);
  }
  for (int64_t i = 0; i < args.per_token; ++i) {
    result[chosen[i]] += weights[i] * (weight_gradient[i] - mean);
  }
}

void DifferentiateTokens(const RouterBackward& args, int64_t first, int64_t count) {
  for (int64_t token = first; token < first + count; ++token) DifferentiateToken(args, token);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(RouteTokens);
HWY_EXPORT(DifferentiateTokens);

template <typename Args>
absl::Status Check(const Args& args) {
  if (args.tokens >= 0 && args.experts > 0 && args.experts <= std::numeric_limits<int32_t>::max() &&
      args.per_token > 0 && args.per_token <= args.experts) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat("routing ", args.tokens, " tokens to ", args.per_token,
                                           " of ", args.experts,
                                           " experts: a token goes to 1 or more, but not to more "
                                           "than there are"));
}

int64_t TokensPerPiece(int64_t experts) {
  return RowsPerPiece(experts * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

absl::Status RouterForwardHost(const KernelContext& context, const RouterForward& args) {
  if (absl::Status status = Check(args); !status.ok()) return status;
  RunPieces(context, args.tokens, TokensPerPiece(args.experts), [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(RouteTokens)(args, first, count);
  });
  return absl::OkStatus();
}

absl::Status RouterBackwardHost(const KernelContext& context, const RouterBackward& args) {
  if (absl::Status status = Check(args); !status.ok()) return status;
  RunPieces(context, args.tokens, TokensPerPiece(args.experts), [&](int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(DifferentiateTokens)(args, first, count);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE
