#pragma once

#include <cstdint>

namespace horizon {

// Tiles that tokens and rows of the vocabulary are worked on in (head_loss.h says why).
inline constexpr int64_t kLossTileTokens = 128;
inline constexpr int64_t kVocabularyTileRows = 512;

// The running sums of a token over the vocabulary rows seen so far.
struct TokenSums {
  float largest;      // logit
  float sum;          // of exp(logit - largest)
  float label_logit;  // 0 until its row was seen
};

// Sum of losses and count of labelled tokens.
struct LossSum {
  double sum = 0;
  int64_t count = 0;
};

}  // namespace horizon
