#include <algorithm>

#include "common/text/str_cat.h"
#include "kernels/experts/router.h"

namespace horizon {
namespace {

// Experts whose probabilities a worker sums together: those of a cache line.
constexpr int64_t kStripExperts = 16;

bool IsCounted(const RouterStatistics& args, int64_t token) {
  return args.records[token].label != kPaddingLabel;
}

void Count(const RouterStatistics& args) {
  std::fill_n(args.counts, args.experts, int64_t{0});
  for (int64_t token = 0; token < args.tokens; ++token) {
    if (!IsCounted(args, token)) continue;
    const int32_t* chosen = args.chosen + token * args.per_token;
    for (int64_t i = 0; i < args.per_token; ++i) ++args.counts[chosen[i]];
  }
}

void SumStrip(const RouterStatistics& args, int64_t first) {
  const int64_t experts = std::min(kStripExperts, args.experts - first);
  double totals[kStripExperts] = {};
  for (int64_t tile = 0; tile < args.tokens; tile += kRouterTileTokens) {
    double sums[kStripExperts] = {};
    const int64_t end = std::min(args.tokens, tile + kRouterTileTokens);
    for (int64_t token = tile; token < end; ++token) {
      if (!IsCounted(args, token)) continue;
      const float* row = args.probabilities + token * args.experts + first;
      for (int64_t e = 0; e < experts; ++e) sums[e] += double{row[e]};
    }
    for (int64_t e = 0; e < experts; ++e) totals[e] += sums[e];
  }
  std::copy_n(totals, experts, args.probability_sums + first);
}

}  // namespace

absl::Status RouterStatisticsHost(const KernelContext& context, const RouterStatistics& args) {
  if (args.tokens < 0 || args.experts <= 0 || args.per_token <= 0 ||
      args.per_token > args.experts) {
    return absl::InvalidArgumentError(StrCat("counting how ", args.tokens, " tokens are routed to ",
                                             args.per_token, " of ", args.experts, " experts"));
  }
  const int64_t strips = (args.experts + kStripExperts - 1) / kStripExperts;
  context.workers->Run(1 + strips, [&](int64_t piece, int) {
    if (piece == 0) return Count(args);
    SumStrip(args, (piece - 1) * kStripExperts);
  });
  return absl::OkStatus();
}

absl::Status RouterLossGradientHost(const KernelContext&, const RouterLossGradient& args) {
  if (args.layers < 0 || args.experts <= 0 ||
      (args.layers > 1 && args.layer_stride < args.experts)) {
    return absl::InvalidArgumentError(StrCat(
        "the gradient of the auxiliary loss of ", args.layers, " layers of ", args.experts,
        " experts: counts of a layer begin ", args.layer_stride, " after those of the one before"));
  }
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
