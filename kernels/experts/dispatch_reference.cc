#include "kernels/experts/dispatch.h"

namespace horizon {

// Takes pairs expert by expert, and those of an expert token by token.
absl::Status DispatchReference(const KernelContext&, const Dispatch& args) {
  const int64_t pairs = args.tokens * args.per_token;
  int32_t row = 0;
  for (int64_t expert = 0; expert < args.experts; ++expert) {
    args.begins[expert] = row;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      if (args.chosen[pair] != expert) continue;
      args.row_pairs[row] = static_cast<int32_t>(pair);
      args.row_tokens[row] = static_cast<int32_t>(pair / args.per_token);
      args.pair_rows[pair] = row;
      ++row;
    }
  }
  args.begins[args.experts] = row;
  return absl::OkStatus();
}

// In fp32, because the order and the type of this sum are part of the contract.
absl::Status CombinePairsReference(const KernelContext&, const CombinePairs& args) {
  for (int64_t token = 0; token < args.tokens; ++token) {
    for (int64_t j = 0; j < args.width; ++j) {
      float sum = args.add ? args.sum[token * args.width + j] : 0.0f;
      for (int64_t i = 0; i < args.per_token; ++i) {
        const bool ascending = args.order == CombineOrder::kAscending;
        const int64_t pair = token * args.per_token + (ascending ? i : args.per_token - 1 - i);
        const int32_t expert = args.chosen[pair];
        if (expert < args.first_expert || expert >= args.end_expert) continue;
        sum += args.rows[args.pair_rows[pair] * args.width + j];
      }
      args.sum[token * args.width + j] = sum;
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon
