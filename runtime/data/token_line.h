#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace horizon {

// A sample of `--data-format tokens`: {"input_ids": [...], "labels": [...]}. Labels are not
// shifted: label t belongs to token t.
struct TokenLine {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;  // as many; -100 where nothing is learnt
};

struct TokenLimits {
  int64_t sequence = 0;  // most tokens of a sample
  int64_t vocab = 0;     // ids and labels are below it; at most 2^31 - 1
};

// Reads one line into `line`, whose vectors are used again. Missing labels are the ids; a negative
// label is -100. InvalidArgument, with the reason but without file and line, for anything else
// than one such object: no valid JSON, unknown, missing or repeated keys, no tokens, a number that
// is no integer, an id or label out of range, unequal lengths, more tokens than a sequence. Takes
// memory for at most `sequence` tokens, whatever the line holds.
absl::Status ParseTokenLine(std::string_view text, const TokenLimits& limits, TokenLine& line);

}  // namespace horizon
