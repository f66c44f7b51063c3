#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Causal attention with grouped heads (GQA), forward and backward.
//
// A row of the batch holds one or more samples. Token t of a row, at position p of its sample
// (TokenRecord::position), attends to the tokens t - p .. t; with a sliding window (`window` > 0)
// to no more than the last `window` of them. Head h reads the keys and values of key head h /
// (heads / kv_heads). Arrays are contiguous and token-major: q[batch x sequence, heads x head_dim],
// k and v[batch x sequence, kv_heads x head_dim]. Rotary embedding was applied before.
//
// With attention sinks (gpt_oss) every query head has one learned number, its sink. The softmax of
// each query of the head has the sink as one more score, as it is: neither scaled nor masked. The
// sink has no value, so its probability only makes the others smaller. For query t and its keys j
//   p[t, j] = exp(score[t, j] - log_sum_exp[t])
//   log_sum_exp[t] = log(exp(sink) + sum over j of exp(score[t, j])).
//
// The host kernels work in tiles with an online softmax, as FlashAttention does. They need worker
// scratch only besides their arguments, so memory grows linearly with the sequence. Tiles count
// from the begin of each sample, and of a pair of tiles only strips of 16 queries x 16 keys are
// multiplied in which a query attends to a key (attention_strips.h). The order of all sums follows
// from head_dim, the window and the position in the sample alone, so a sample of a packed row has
// the bits it has alone.
struct AttentionShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;  // at most kMaxHeadDim
  int64_t window = 0;    // 0: no sliding window
  float scale = 1.0f;    // factor of the scores, usually 1 / sqrt(head_dim)
};
inline constexpr int64_t kMaxHeadDim = 512;

struct AttentionForward {
  AttentionShape shape;
  // [batch x sequence], for the positions, which count up from 0 in every sample.
  const TokenRecord* records = nullptr;
  ConstValues q;
  ConstValues k;
  ConstValues v;
  ConstValues sinks;             // [heads], finite; null: the model has none
  Values output;                 // shape of q
  float* log_sum_exp = nullptr;  // [batch x sequence, heads], of the scaled scores and the sink
};
absl::Status AttentionForwardReference(const KernelContext& context, const AttentionForward& args);
absl::Status AttentionForwardHost(const KernelContext& context, const AttentionForward& args);
// Runs on the context's stream and does not wait for it. All arrays but log_sum_exp are bf16 and,
// except the sinks, begin at multiples of 16 bytes; head_dim is a multiple of 8. At any time the
// device workspace, of AttentionForwardWorkspaceBytes, holds the scores of kDeviceQueryTile queries
// of all heads and one tile of keys.
absl::Status AttentionForwardCuda(const KernelContext& context, const AttentionForward& args);
uint64_t AttentionForwardWorkspaceBytes(const AttentionShape& shape);
inline constexpr int64_t kDeviceQueryTile = 256;

struct AttentionBackward {
  AttentionShape shape;
  // [batch x sequence], for the positions, which count up from 0 in every sample.
  const TokenRecord* records = nullptr;
  ConstValues q;
  ConstValues k;
  ConstValues v;
  ConstValues sinks;                   // of forward
  ConstValues output;                  // of forward
  const float* log_sum_exp = nullptr;  // of forward
  ConstValues output_gradient;         // shape of q
  // Scratch, [batch x sequence, heads]: the dot products of output and output_gradient.
  float* output_dot = nullptr;
  Values q_gradient;  // written, not added to
  Values k_gradient;
  Values v_gradient;
  // [heads], summed over all tokens as SinkGradient (sink_gradient.h) sums. With neither pointer
  // set the sinks are frozen, or there are none.
  GradientOut sinks_gradient;
};
absl::Status AttentionBackwardReference(const KernelContext& context,
                                        const AttentionBackward& args);
absl::Status AttentionBackwardHost(const KernelContext& context, const AttentionBackward& args);
// As AttentionForwardCuda. Gradients are summed in fp32, over tiles in ascending order, and rounded
// once.
absl::Status AttentionBackwardCuda(const KernelContext& context, const AttentionBackward& args);
uint64_t AttentionBackwardWorkspaceBytes(const AttentionShape& shape);

}  // namespace horizon
