#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"
#include "kernels/head/head_sums.h"

namespace horizon {

// Cross-entropy fused with the head, for some tokens (a loss chunk) and some rows of the vocabulary
// (a shard of the head). Logits exist for these only; a logit is logit_scale x (input . weight
// row), the fp32 product of the fp32 sum. Tokens whose label is negative count nothing.
//
// Same bits for any cut into loss chunks and shards: tokens are worked on in tiles of
// kLossTileTokens and the vocabulary in tiles of kVocabularyTileRows; chunks and shards begin at
// multiples of these (counted from the first token, from row 0) and sums carry on from one to the
// next.

// In the scratch of the CUDA bodies: fp32 elements from the logits of one token to those of the
// next, for a shard of `rows` rows. So each token's logits, and the bf16 gradients that take their
// place, begin at a multiple of 16 bytes. On the host the rows of logits are contiguous.
constexpr int64_t CudaLogitStride(int64_t rows) { return (rows + 7) / 8 * 8; }

struct HeadShape {
  int64_t tokens = 0;  // of this chunk
  int64_t hidden = 0;
  int64_t first_row = 0;  // of this shard
  int64_t rows = 0;       // of this shard
};

// Continues sums[tokens] over the rows of the shard; a shard that begins at row 0 starts them.
struct HeadLogSumExp {
  HeadShape shape;
  float logit_scale = 1.0f;
  ConstValues input;                     // [tokens, hidden]
  ConstValues weights;                   // [rows, hidden]
  const TokenRecord* records = nullptr;  // [tokens]: their labels
  TokenSums* sums = nullptr;
  float* logits = nullptr;  // [tokens, rows] (CUDA: CudaLogitStride(rows) a token), scratch
};
absl::Status HeadLogSumExpReference(const KernelContext& context, const HeadLogSumExp& args);
absl::Status HeadLogSumExpHost(const KernelContext& context, const HeadLogSumExp& args);
// On the context's stream, without waiting. Input and weights are bf16 and all arrays begin at
// multiples of 16 bytes; hidden is a multiple of 8.
absl::Status HeadLogSumExpCuda(const KernelContext& context, const HeadLogSumExp& args);

// What the shard contributes to the gradients, and (from the shard that begins at row 0) the loss.
// d loss / d (input . weight row) = logit_scale x scale x (softmax - one at the label).
// A gradient that is null is not computed; what is computed has the bits it has beside it.
struct HeadLoss {
  HeadShape shape;
  float logit_scale = 1.0f;
  ConstValues input;                     // [tokens, hidden]
  ConstValues weights;                   // [rows, hidden]
  const TokenRecord* records = nullptr;  // [tokens]: their labels
  // Complete sums when `sums_complete` (a head in several shards: HeadLogSumExp came before);
  // otherwise this shard is the whole vocabulary and they are scratch.
  TokenSums* sums = nullptr;
  bool sums_complete = false;
  float scale = 1.0f;        // 1 / counted tokens of the whole step
  float* logits = nullptr;   // as of HeadLogSumExp
  LossSum* loss = nullptr;   // added to by the shard that begins at row 0, tile by tile
  bool loss_begins = false;  // and set to nothing before that
  // [tokens, hidden]: written by the shard at row 0, else added to. Null: nothing below the head is
  // trained.
  Values input_gradient;
  // [rows, hidden]: the fp32 sum over loss chunks. Null: the head is frozen.
  float* weight_gradient = nullptr;
  bool first_chunk = false;  // weight_gradient is written, not added to
  // CUDA only. An input_gradient of bf16 cannot be summed over shards without losing bits, so the
  // sum is fp32 and kept here from shard to shard, [tokens, hidden]; the last shard rounds it into
  // input_gradient, others leave that alone. Null: this shard is the whole vocabulary, and the sum
  // lies in the device workspace. An input_gradient of fp32 is its own sum. Without input_gradient
  // it is not touched.
  float* input_gradient_sum = nullptr;
  bool last_shard = true;
};
absl::Status HeadLossReference(const KernelContext& context, const HeadLoss& args);
absl::Status HeadLossHost(const KernelContext& context, const HeadLoss& args);
// As HeadLogSumExpCuda. Gradients of logits are bf16. Labels are not looked at: they lie in the
// vocabulary.
absl::Status HeadLossCuda(const KernelContext& context, const HeadLoss& args);
// Of a whole head without input_gradient_sum, whose input_gradient is bf16; otherwise, and where
// input_gradient is null, none is used.
inline uint64_t HeadLossWorkspaceBytes(const HeadShape& shape) {
  return static_cast<uint64_t>(shape.tokens * shape.hidden) * sizeof(float);
}

}  // namespace horizon
