#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// How the next token is chosen from a model's logits.
struct SamplingOptions {
  double temperature = 0;  // 0: greedy, always the likeliest token (the lowest id among equals)
  int64_t top_k = 0;       // choose among the k likeliest tokens; 0: among all
  double top_p = 1;  // choose among the fewest likeliest tokens with this probability together
  double repetition_penalty = 1;  // above 1: tokens that occurred before become less likely
  uint64_t seed = 0;
};

// InvalidArgument, naming what is out of range: a negative temperature or top_k, top_p outside (0,
// 1], a penalty that is not above 0.
absl::Status ValidateSampling(const SamplingOptions& options);

// Says which text, and which of its tokens, a random draw is for. Besides the logits, a draw
// depends only on this and on the seed, so a text does not depend on what else is generated in the
// batch, nor on plan or threads.
struct DrawPlace {
  uint64_t text = 0;
  uint64_t position = 0;
};

// Chooses the id of the next token. In this order: the penalty divides the logits above 0 of the
// tokens in `before` and multiplies their other logits (Keskar et al. 2019, section 4.1; each id
// once); the temperature divides all logits; then top_k is applied, and top_p to what is left. A
// logit of -infinity is never chosen. The arithmetic is in double. Internal, marked as a failure of
// numerics, when a logit is NaN or +infinity or all are -infinity. `logits` must not be empty.
absl::StatusOr<int32_t> ChooseToken(std::span<const float> logits, std::span<const int32_t> before,
                                    const SamplingOptions& options, const DrawPlace& place);

}  // namespace horizon
