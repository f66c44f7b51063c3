#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/token_record.h"

namespace horizon {

// Cross-entropy fused with the head, for some tokens (a loss chunk) and some rows of the vocabulary
// (a shard of the head). Logits exist for these only. Tokens whose label is negative count nothing.
//
// Same bits for any cut into loss chunks and shards: tokens are worked on in tiles of
// kLossTileTokens and the vocabulary in tiles of kVocabularyTileRows; chunks and shards begin at
// multiples of these (counted from the first token, from row 0) and sums carry on from one to the
// next.
inline constexpr int64_t kLossTileTokens = 128;
inline constexpr int64_t kVocabularyTileRows = 512;

// The running sums of a token over the vocabulary rows seen so far.
struct TokenSums {
  float largest;      // logit
  float sum;          // of exp(logit - largest)
  float label_logit;  // 0 until its row was seen
};

struct HeadShape {
  int64_t tokens = 0;  // of this chunk
  int64_t hidden = 0;
  int64_t first_row = 0;  // of this shard
  int64_t rows = 0;       // of this shard
};

// Continues sums[tokens] over the rows of the shard; a shard that begins at row 0 starts them.
struct HeadLogSumExp {
  HeadShape shape;
  const float* input = nullptr;          // [tokens, hidden]
  const float* weights = nullptr;        // [rows, hidden]
  const TokenRecord* records = nullptr;  // [tokens]: their labels
  TokenSums* sums = nullptr;
  float* logits = nullptr;  // [tokens, rows], scratch
};
absl::Status HeadLogSumExpReference(const KernelContext& context, const HeadLogSumExp& args);
absl::Status HeadLogSumExpHost(const KernelContext& context, const HeadLogSumExp& args);

// Sum of losses and count of labelled tokens.
struct LossSum {
  double sum = 0;
  int64_t count = 0;
};

// What the shard contributes to the gradients, and (from the shard that begins at row 0) the loss.
// d loss / d logit = scale x (softmax - one at the label).
struct HeadLoss {
  HeadShape shape;
  const float* input = nullptr;          // [tokens, hidden]
  const float* weights = nullptr;        // [rows, hidden]
  const TokenRecord* records = nullptr;  // [tokens]: their labels
  // Complete sums when `sums_complete` (a head in several shards: HeadLogSumExp came before);
  // otherwise this shard is the whole vocabulary and they are scratch.
  TokenSums* sums = nullptr;
  bool sums_complete = false;
  float scale = 1.0f;       // 1 / counted tokens of the whole step
  float* logits = nullptr;  // [tokens, rows], scratch
  LossSum* loss = nullptr;  // added to by the shard that begins at row 0, tile by tile
  float* input_gradient =
      nullptr;  // [tokens, hidden]: written by the shard at row 0, else added to
  float* weight_gradient = nullptr;  // [rows, hidden]: the fp32 sum over loss chunks
  bool first_chunk = false;          // weight_gradient is written, not added to
};
absl::Status HeadLossReference(const KernelContext& context, const HeadLoss& args);
absl::Status HeadLossHost(const KernelContext& context, const HeadLoss& args);

}  // namespace horizon
