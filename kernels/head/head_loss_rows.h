#pragma once

#include <cstdint>

#include "kernels/head/head_loss.h"

namespace horizon {

// SIMD passes over the logits that the host kernels of the loss (head_loss.h) share.

// A tile of logits: [tokens, rows], where `rows` are rows of the vocabulary and `stride` elements
// lead from one token to the next.
struct LogitTile {
  float* logits = nullptr;
  int64_t stride = 0;
  int64_t tokens = 0;
  int64_t rows = 0;
};

// Multiplies every logit by `scale`.
void ScaleLogitRows(const LogitTile& tile, float scale);

// The softmax sums of one token over one tile.
struct TileSums {
  float largest;  // logit
  float sum;      // of exp(logit - largest)
};
// Computes sums[tokens].
void SumLogitRows(const LogitTile& tile, TileSums* sums);

// What the gradients of a tile depend on besides its logits.
struct LogitTargets {
  const TokenRecord* records = nullptr;  // [tokens], for their labels
  const TokenSums* sums = nullptr;       // [tokens], complete
  int64_t first_row = 0;                 // of the tile in the whole vocabulary
  float scale = 1.0f;                    // factor of the gradients
};
// Replaces the logits by the gradients of the loss.
void DifferentiateLogitRows(const LogitTile& tile, const LogitTargets& targets);

}  // namespace horizon
