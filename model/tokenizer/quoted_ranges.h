#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// Helpers for the quoted ranges of EncodeOptions.

// Returns InvalidArgument unless the ranges are in order, do not overlap and are within a text of
// `size` bytes.
absl::Status CheckQuotedRanges(std::span<const ByteRange> ranges, size_t size);

// Whether `range` shares a byte with one of `ranges`, which must be in order. O(log n).
bool Overlaps(const ByteRange& range, std::span<const ByteRange> ranges);

}  // namespace horizon
