#pragma once

#include <cstdint>
#include <span>

#include "model/sample_lengths.h"

namespace horizon {

// Pieces of tokens. The matrices of a layer stage are multiplied with at most kPieceTokens tokens
// at once, and a feed-forward stage goes through all its points with one piece of the micro-batch
// after another, so that no array grows with tokens x intermediate. The weight gradients of several
// pieces are added in fp32, in ascending order, and rounded once. The number is a constant because
// the order of these sums decides bits; a micro-batch of no more tokens is one piece.
inline constexpr int64_t kPieceTokens = 8192;

// The piece of software that always multiplies all tokens at once (the systems we compare with).
inline constexpr int64_t kAllTokens = int64_t{1} << 62;

// What a job and a plan choose about the passes over a stage.
struct StageOptions {
  int64_t piece_tokens = kPieceTokens;  // TrainingJob::piece_tokens
  // Whether gate and up of a feed-forward or experts stage are kept for backward; otherwise
  // backward computes them again from the kept input (StreamPlan::keep_feed_forward).
  bool keep_feed_forward = true;
  // The most experts of a stage that one chunk holds: the weight gradients of so many are summed at
  // once. 0: all of them.
  int64_t experts_in_chunk = 0;
  // How long the samples in the rows are (TrainingJob::sample_lengths, which outlives this). Empty:
  // each row is one sample. It changes how much attention there is to compute, and nothing else.
  std::span<const SampleLength> sample_lengths = {};
};

}  // namespace horizon
