#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// The router of a mixture of experts: from one logit per token and expert it chooses the
// `per_token` experts with the largest logits, and gives each a weight.
//
// Ties go to the expert with the lower number, and a logit that is not a number counts as
// -infinity here; so exactly `per_token` different experts are chosen, whatever the logits are.
// (The weights and probabilities of that token are no numbers then, which the loss shows.) The
// chosen experts of a token are listed in ascending order of their numbers, not of their logits:
// the sums over them (CombinePairs in dispatch.h) are taken in that order.

// What the weights of the chosen experts are.
enum class RouterWeights : uint8_t {
  kSoftmaxOfAll,  // their share of the softmax over all experts (qwen3_moe, norm_topk_prob false)
  kSoftmaxOfChosen,  // the softmax over the chosen logits: the above, scaled to sum to one
};

struct RouterForward {
  RouterWeights kind = RouterWeights::kSoftmaxOfChosen;
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t per_token = 0;           // 1 .. experts
  const float* logits = nullptr;   // [tokens, experts], without the bias
  ConstValues bias;                // [experts], added to the logits first; null: none
  float* probabilities = nullptr;  // [tokens, experts]: softmax over all experts; may be `logits`
  int32_t* chosen = nullptr;       // [tokens, per_token]
  float* weights = nullptr;        // [tokens, per_token], of the experts in `chosen`
};
absl::Status RouterForwardReference(const KernelContext& context, const RouterForward& args);
absl::Status RouterForwardHost(const KernelContext& context, const RouterForward& args);
// logits and probabilities are fp32, bias is bf16, and there are at most 512 experts, as for the
// gradient and the statistics. See rms_norm.h for what all CUDA kernels have in common.
absl::Status RouterForwardCuda(const KernelContext& context, const RouterForward& args);

// The gradient of the logits, from that of the weights and that of the probabilities (which the
// auxiliary loss reads). The choice itself has no gradient.
struct RouterBackward {
  RouterWeights kind = RouterWeights::kSoftmaxOfChosen;
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t per_token = 0;
  const float* probabilities = nullptr;    // of forward
  const int32_t* chosen = nullptr;         // of forward
  const float* weights = nullptr;          // of forward
  const float* weight_gradient = nullptr;  // [tokens, per_token]
  // [experts]: the gradient of each token's probabilities, the same for every token that is not
  // padding (records[t].label == kPaddingLabel). Null: none.
  const float* probability_gradient = nullptr;
  const TokenRecord* records = nullptr;  // [tokens]; read only with probability_gradient
  Values logit_gradient;                 // [tokens, experts]
};
absl::Status RouterBackwardReference(const KernelContext& context, const RouterBackward& args);
absl::Status RouterBackwardHost(const KernelContext& context, const RouterBackward& args);
// logit_gradient is bf16.
absl::Status RouterBackwardCuda(const KernelContext& context, const RouterBackward& args);

// What the auxiliary loss and the metrics need to know about the routing of one layer: how often
// each expert was chosen, and the sums of its probabilities. Padding does not count. Counts are
// integers, and probabilities are added in fp64 over tiles of kRouterTileTokens tokens, in
// ascending order within a tile and from tile to tile; so the result depends on the tokens alone.
inline constexpr int64_t kRouterTileTokens = 64;

struct RouterStatistics {
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t per_token = 0;
  const TokenRecord* records = nullptr;  // [tokens]
  const float* probabilities = nullptr;  // [tokens, experts]
  const int32_t* chosen = nullptr;       // [tokens, per_token]
  int64_t* counts = nullptr;             // [experts], written: how often each was chosen
  double* probability_sums = nullptr;    // [experts], written
};
absl::Status RouterStatisticsReference(const KernelContext& context, const RouterStatistics& args);
absl::Status RouterStatisticsHost(const KernelContext& context, const RouterStatistics& args);
absl::Status RouterStatisticsCuda(const KernelContext& context, const RouterStatistics& args);

// The gradient that the auxiliary loss gives to each probability, from the counts of all layers:
//   gradient[e] = scale x (sum of counts[layer, e] over the layers)
// where the caller's `scale` holds everything else. The sum is one of integers, rounded once.
struct RouterLossGradient {
  int64_t layers = 0;
  int64_t experts = 0;
  const int64_t* counts = nullptr;  // of layer 0; layer l begins l x layer_stride later
  int64_t layer_stride = 0;         // in numbers of 8 bytes
  double scale = 0;
  float* gradient = nullptr;  // [experts]
};
absl::Status RouterLossGradientReference(const KernelContext& context,
                                         const RouterLossGradient& args);
absl::Status RouterLossGradientHost(const KernelContext& context, const RouterLossGradient& args);
absl::Status RouterLossGradientCuda(const KernelContext& context, const RouterLossGradient& args);

}  // namespace horizon
