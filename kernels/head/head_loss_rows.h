#pragma once

#include <cstdint>

#include "kernels/head/head_loss.h"

namespace horizon {

// A tile of logits: `rows` vocabulary entries of `tokens` tokens, `stride` elements apart.
struct LogitTile {
  float* logits = nullptr;
  int64_t stride = 0;
  int64_t tokens = 0;
  int64_t rows = 0;
};

// Multiplies every logit with `scale`.
void ScaleLogitRows(const LogitTile& tile, float scale);

// Of one token within a tile.
struct TileSums {
  float largest;
  float sum;  // of exp(logit - largest)
};
void SumLogitRows(const LogitTile& tile, TileSums* sums);

// What the loss says of the tokens of a tile.
struct LogitTargets {
  const TokenRecord* records = nullptr;
  const TokenSums* sums = nullptr;  // complete
  int64_t first_row = 0;            // of the tile in the whole vocabulary
  float scale = 1.0f;               // of the gradients
};
// Puts the gradients of the loss in the place of the logits.
void DifferentiateLogitRows(const LogitTile& tile, const LogitTargets& targets);

}  // namespace horizon
