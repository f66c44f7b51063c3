#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"
#include "kernels/head/head_sums.h"

namespace horizon {

// The cross-entropy loss, fused with the language-model head. A call handles some tokens (a loss
// chunk) and some rows of the vocabulary (a shard of the head), and only their logits exist at a
// time. A logit is logit_scale x (input . weight row): the dot product is summed in fp32 and then
// multiplied in fp32. A token with a negative label does not count.
//
// For a head in one shard, one call of HeadLoss per loss chunk is enough. A head in several shards
// needs two passes: HeadLogSumExp for all shards completes the softmax sums of the tokens, then
// HeadLoss runs for each shard with `sums_complete`.
//
// The bits do not depend on the cut into loss chunks and shards. Tokens are processed in tiles of
// kLossTileTokens and the vocabulary in tiles of kVocabularyTileRows. Chunks and shards begin at
// multiples of these, counted from the first token and from row 0, and sums continue from one chunk
// or shard to the next.

// The distance between the logits of consecutive tokens in the scratch of the CUDA kernels, in fp32
// elements, for a shard of `rows` rows. With it the logits of each token, and the bf16 gradients
// that overwrite them, begin at a multiple of 16 bytes. On the host the rows of logits are
// contiguous.
constexpr int64_t CudaLogitStride(int64_t rows) { return (rows + 7) / 8 * 8; }

struct HeadShape {
  int64_t tokens = 0;  // of this loss chunk
  int64_t hidden = 0;
  int64_t first_row = 0;  // of this shard
  int64_t rows = 0;       // of this shard
};

// Continues the running softmax sums[tokens] over the rows of the shard. A shard that begins at row
// 0 starts them.
struct HeadLogSumExp {
  HeadShape shape;
  float logit_scale = 1.0f;
  ConstValues input;                     // [tokens, hidden]
  ConstValues weights;                   // [rows, hidden]
  const TokenRecord* records = nullptr;  // [tokens], for their labels
  TokenSums* sums = nullptr;             // [tokens]
  float* logits = nullptr;  // scratch, [tokens, rows] (CUDA: CudaLogitStride(rows) per token)
};
absl::Status HeadLogSumExpReference(const KernelContext& context, const HeadLogSumExp& args);
absl::Status HeadLogSumExpHost(const KernelContext& context, const HeadLogSumExp& args);
// Runs on the context's stream and does not wait for it. Input and weights are bf16 and all arrays
// begin at multiples of 16 bytes; hidden is a multiple of 8.
absl::Status HeadLogSumExpCuda(const KernelContext& context, const HeadLogSumExp& args);

// Computes what the shard contributes to the gradients; the shard that begins at row 0 also
// computes the loss. d loss / d (input . weight row) = logit_scale x scale x (softmax - one at the
// label). A gradient that is null is not computed; the other one then has the same bits as with
// both.
struct HeadLoss {
  HeadShape shape;
  float logit_scale = 1.0f;
  ConstValues input;                     // [tokens, hidden]
  ConstValues weights;                   // [rows, hidden]
  const TokenRecord* records = nullptr;  // [tokens], for their labels
  // [tokens]. With `sums_complete` they are complete (a head in several shards, after
  // HeadLogSumExp); otherwise this shard is the whole vocabulary and they are scratch.
  TokenSums* sums = nullptr;
  bool sums_complete = false;
  float scale = 1.0f;       // 1 / counted tokens of the whole step
  float* logits = nullptr;  // scratch, as in HeadLogSumExp
  LossSum* loss = nullptr;  // the shard that begins at row 0 adds to it, tile by tile
  bool clear_loss = false;  // set *loss to 0 first, whatever the shard
  // [tokens, hidden]: the shard that begins at row 0 overwrites it, the others add to it. Null:
  // nothing below the head is trained.
  Values input_gradient;
  // [rows, hidden]: the fp32 sum over loss chunks. Null: the head is frozen.
  float* weight_gradient = nullptr;
  bool first_chunk = false;  // overwrite weight_gradient, instead of adding to it
  // CUDA only. A bf16 input_gradient cannot be summed over shards without losing bits. The sum,
  // [tokens, hidden], is therefore fp32 and stays here from shard to shard; the last shard rounds
  // it into input_gradient, the others do not touch that. Null: this shard is the whole vocabulary,
  // and the sum is in the device workspace. An fp32 input_gradient is its own sum. Without
  // input_gradient this is not used.
  float* input_gradient_sum = nullptr;
  bool last_shard = true;
};
absl::Status HeadLossReference(const KernelContext& context, const HeadLoss& args);
absl::Status HeadLossHost(const KernelContext& context, const HeadLoss& args);
// As HeadLogSumExpCuda. Gradients of logits are bf16. Labels are not checked: they must be in the
// vocabulary.
absl::Status HeadLossCuda(const KernelContext& context, const HeadLoss& args);
// The device workspace of HeadLossCuda for a head in one shard with a bf16 input_gradient and
// without input_gradient_sum. In all other cases, also if input_gradient is null, it uses none.
inline uint64_t HeadLossWorkspaceBytes(const HeadShape& shape) {
  return static_cast<uint64_t>(shape.tokens * shape.hidden) * sizeof(float);
}

}  // namespace horizon
