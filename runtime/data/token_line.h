#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace horizon {

// The label of a token without a loss, as in PyTorch's cross_entropy (ignore_index).
inline constexpr int32_t kIgnoredLabel = -100;

// A tokenised sample: {"input_ids": [...], "labels": [...], "attention_mask": [...]}. Labels are
// not shifted: label t belongs to token t. The mask is 1 for tokens and 0 for padding before or
// after them, which is removed.
struct TokenLine {
  static constexpr int64_t kNoEnd = -1;
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;  // as many as ids; kIgnoredLabel where there is no loss
  // The index of the last token that has a loss and ends an answer, or kNoEnd; not set for
  // DataKind::kTokens and documents.
  std::optional<int64_t> last_end = std::nullopt;
};

// Limits that ParseTokenLine checks.
struct TokenLimits {
  int64_t sequence = 0;  // longest sample in tokens
  int64_t vocab = 0;     // ids and labels are below it; at most 2^31 - 1
};

// Parses one line into `line`, reusing its vectors. Missing labels are the ids; a negative label
// becomes -100. InvalidArgument, with the reason but without file and line, for anything other than
// one such object: invalid JSON; unknown, missing or repeated keys; no tokens; a number that is not
// an integer; an id or label out of range; unequal lengths; a mask that is not zeros, then ones,
// then zeros; more tokens, without padding, than a sequence. Needs memory for at most `sequence`
// tokens, whatever the line holds.
absl::Status ParseTokenLine(std::string_view text, const TokenLimits& limits, TokenLine& line);

}  // namespace horizon
