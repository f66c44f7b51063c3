#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace horizon {

// The label of a token that is not learnt.
inline constexpr int32_t kIgnoredLabel = -100;

// A sample of tokens: {"input_ids": [...], "labels": [...], "attention_mask": [...]}. Labels are
// not shifted: label t belongs to token t. The mask is 1 for tokens and 0 for padding before or
// behind them, which is cut away.
struct TokenLine {
  static constexpr int64_t kNoEnd = -1;
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;  // as many; kIgnoredLabel where nothing is learnt
  // The place of the last token that is learnt and ends an answer, or kNoEnd; not known of tokens
  // and documents.
  std::optional<int64_t> last_end = std::nullopt;
};

struct TokenLimits {
  int64_t sequence = 0;  // most tokens of a sample
  int64_t vocab = 0;     // ids and labels are below it; at most 2^31 - 1
};

// Reads one line into `line`, whose vectors are used again. Missing labels are the ids; a negative
// label is -100. InvalidArgument, with the reason but without file and line, for anything else
// than one such object: no valid JSON, unknown, missing or repeated keys, no tokens, a number that
// is no integer, an id or label out of range, unequal lengths, a mask that is not zeros, ones and
// zeros in this order, more tokens than a sequence without the padding. Takes memory for at most
// `sequence` tokens, whatever the line holds.
absl::Status ParseTokenLine(std::string_view text, const TokenLimits& limits, TokenLine& line);

}  // namespace horizon
