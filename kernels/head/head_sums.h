#pragma once

#include <cstdint>

namespace horizon {

// Types and tile sizes that the loss kernels (head_loss.h) share with device code.

// Tokens and rows of the vocabulary are processed in tiles of these sizes; head_loss.h says why.
inline constexpr int64_t kLossTileTokens = 128;
inline constexpr int64_t kVocabularyTileRows = 512;

// The running softmax sums of a token over the rows of the vocabulary processed so far.
struct TokenSums {
  float largest;      // logit
  float sum;          // of exp(logit - largest)
  float label_logit;  // 0 until the row of the label was processed
};

// The sum of the losses and the number of labelled tokens.
struct LossSum {
  double sum = 0;
  int64_t count = 0;
};

}  // namespace horizon
