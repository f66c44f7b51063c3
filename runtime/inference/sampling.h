#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// How the next token is chosen from a model's logits.
struct SamplingOptions {
  double temperature = 0;         // 0: always the likeliest (the lowest id of equals)
  int64_t top_k = 0;              // only this many of the likeliest; 0: all
  double top_p = 1;               // only the fewest of the likeliest that have this share together
  double repetition_penalty = 1;  // above 1: tokens that were there before are less likely
  uint64_t seed = 0;
};

// InvalidArgument naming what is out of range: a negative temperature or top_k, top_p outside
// (0, 1], a penalty that is not above 0.
absl::Status ValidateSampling(const SamplingOptions& options);

// Which text, and which of its tokens: with the seed all that a draw depends on besides the logits,
// so that a text does not depend on what else is generated beside it, nor on plan or threads.
struct DrawPlace {
  uint64_t text = 0;
  uint64_t position = 0;
};

// The id of the next token. In this order: the penalty divides the logits above 0 of `before` and
// multiplies the others (Keskar et al. 2019, section 4.1; each id once); the temperature divides
// all; top_k, then top_p of what is left. A logit of -infinity is never chosen. Arithmetic in
// double. Internal, marked as a failure of numerics, when a logit is NaN or +infinity or all
// are -infinity; `logits` is not empty.
absl::StatusOr<int32_t> ChooseToken(std::span<const float> logits, std::span<const int32_t> before,
                                    const SamplingOptions& options, const DrawPlace& place);

}  // namespace horizon
