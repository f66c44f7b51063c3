#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Token-expert pairs. A token with `per_token` chosen experts makes as many pairs; pair t x
// per_token + i is token t with the expert chosen[t, i]. The grouped matrix multiplies
// (expert_gemm.h) want the pairs of an expert beside each other, so pairs are sorted by expert, and
// those of one expert by token (a stable counting sort). A pair's place in this order is its row.
//
// For example, 3 tokens with experts {0, 2}, {0, 1}, {1, 2} of 3:
//   row           0  1 | 2  3 | 4  5      begins = {0, 2, 4, 6}
//   its expert    0  0 | 1  1 | 2  2
//   row_pairs     0  2 | 3  4 | 1  5
//   row_tokens    0  1 | 1  2 | 0  2
//   pair_rows  = {0, 4, 1, 2, 3, 5}
//
// All pairs are kept: no expert is full. So the number of rows is known before the data is; only
// where an expert's rows begin depends on it, and that stays in device memory: no kernel waits for
// the host to read it.
struct Dispatch {
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t per_token = 0;
  const int32_t* chosen = nullptr;  // [tokens, per_token]: of each token, ascending
  int32_t* begins = nullptr;      // [experts + 1]: an expert's rows are begins[e] .. begins[e + 1]
  int32_t* row_pairs = nullptr;   // [rows]: the pair of each row
  int32_t* row_tokens = nullptr;  // [rows]: row_pairs / per_token
  int32_t* pair_rows = nullptr;   // [tokens, per_token]: the row of each pair
};
absl::Status DispatchReference(const KernelContext& context, const Dispatch& args);
absl::Status DispatchHost(const KernelContext& context, const Dispatch& args);
// Needs a device workspace of DispatchWorkspaceBytes; there are at most 512 experts. See rms_norm.h
// for what all CUDA kernels have in common.
absl::Status DispatchCuda(const KernelContext& context, const Dispatch& args);
uint64_t DispatchWorkspaceBytes(int64_t tokens, int64_t experts);

// The way back: of each token, the rows of those of its pairs whose expert is in [first_expert,
// end_expert) are added in fp32, one after the other, to `sum`; in ascending order of the experts,
// or descending. So calls over ranges of experts, one after the other in that order, give the bits
// of one call over all experts.
enum class CombineOrder : uint8_t { kAscending, kDescending };

struct CombinePairs {
  CombineOrder order = CombineOrder::kAscending;
  int64_t tokens = 0;
  int64_t per_token = 0;
  int64_t width = 0;
  int64_t first_expert = 0;
  int64_t end_expert = 0;
  const int32_t* chosen = nullptr;     // [tokens, per_token]
  const int32_t* pair_rows = nullptr;  // [tokens, per_token]
  ConstValues rows;                    // [tokens x per_token, width]
  bool add = false;                    // to what `sum` holds; otherwise it begins with +0
  float* sum = nullptr;                // [tokens, width]
};
absl::Status CombinePairsReference(const KernelContext& context, const CombinePairs& args);
absl::Status CombinePairsHost(const KernelContext& context, const CombinePairs& args);
// rows are bf16; width is a multiple of 8.
absl::Status CombinePairsCuda(const KernelContext& context, const CombinePairs& args);

}  // namespace horizon
