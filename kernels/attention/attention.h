#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Causal attention of grouped heads. A row holds one or more samples; token t of a row, p tokens
// into its sample (TokenRecord::position), sees t - p .. t, and with a sliding window `window` > 0
// no more than the last `window` of them. Head h reads the keys and values of head
// h / (heads / kv_heads). Arrays are token-major: q[batch x sequence, heads x head_dim], k and v
// [batch x sequence, kv_heads x head_dim], contiguous, after rotary.
//
// Tiled with an online softmax: beside its arguments it takes worker scratch only, so memory is
// linear in the sequence; tiles that nothing sees are skipped. Tiles, and the order sums are taken
// in, follow from the sizes alone.
struct AttentionShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;  // at most kMaxHeadDim
  int64_t window = 0;    // 0: all tokens before
  float scale = 1.0f;    // of the scores, 1 / sqrt(head_dim) as a rule
};
inline constexpr int64_t kMaxHeadDim = 512;

struct AttentionForward {
  AttentionShape shape;
  // [batch x sequence]: their positions, which count up from 0 in every sample.
  const TokenRecord* records = nullptr;
  ConstValues q;
  ConstValues k;
  ConstValues v;
  Values output;                 // as q
  float* log_sum_exp = nullptr;  // [batch x sequence, heads], of the scaled scores
};
absl::Status AttentionForwardReference(const KernelContext& context, const AttentionForward& args);
absl::Status AttentionForwardHost(const KernelContext& context, const AttentionForward& args);
// On the context's stream, without waiting. All arrays but log_sum_exp are bf16 and begin at
// multiples of 16 bytes, head_dim is a multiple of 8. Scores of kDeviceQueryTile queries of all
// heads and one tile of keys exist at a time.
absl::Status AttentionForwardCuda(const KernelContext& context, const AttentionForward& args);
uint64_t AttentionForwardWorkspaceBytes(const AttentionShape& shape);
inline constexpr int64_t kDeviceQueryTile = 256;

struct AttentionBackward {
  AttentionShape shape;
  // [batch x sequence]: their positions, which count up from 0 in every sample.
  const TokenRecord* records = nullptr;
  ConstValues q;
  ConstValues k;
  ConstValues v;
  ConstValues output;
  const float* log_sum_exp = nullptr;
  ConstValues output_gradient;  // as q
  float* output_dot = nullptr;  // [batch x sequence, heads], scratch: output . gradient
  Values q_gradient;            // written, not added to
  Values k_gradient;
  Values v_gradient;
};
absl::Status AttentionBackwardReference(const KernelContext& context,
                                        const AttentionBackward& args);
absl::Status AttentionBackwardHost(const KernelContext& context, const AttentionBackward& args);
// As AttentionForwardCuda. Gradients are summed in fp32, tiles in ascending order, and rounded
// once.
absl::Status AttentionBackwardCuda(const KernelContext& context, const AttentionBackward& args);
uint64_t AttentionBackwardWorkspaceBytes(const AttentionShape& shape);

}  // namespace horizon
