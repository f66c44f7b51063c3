#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// What EncodeOptions says of quoted text.

// InvalidArgument unless the ranges are in order, do not overlap and lie in a text of `size` bytes.
absl::Status CheckQuotedRanges(std::span<const ByteRange> ranges, size_t size);

// Whether a range shares a byte with one of `ranges`, which are in order. O(log n).
bool Overlaps(const ByteRange& range, std::span<const ByteRange> ranges);

}  // namespace horizon
