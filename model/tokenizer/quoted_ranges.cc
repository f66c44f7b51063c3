#include "model/tokenizer/quoted_ranges.h"

#include <algorithm>

#include "common/text/str_cat.h"

namespace horizon {

absl::Status CheckQuotedRanges(std::span<const ByteRange> ranges, size_t size) {
  size_t end = 0;
  for (const ByteRange& range : ranges) {
    if (range.begin < end || range.end < range.begin || range.end > size) {
      return absl::InvalidArgumentError(StrCat("the quoted range ", range.begin, " to ", range.end,
                                               " is out of order or beyond the text of ", size,
                                               " bytes"));
    }
    end = range.end;
  }
  return absl::OkStatus();
}

bool Overlaps(const ByteRange& range, std::span<const ByteRange> ranges) {
  auto candidate =
      std::upper_bound(ranges.begin(), ranges.end(), range.begin,
                       [](size_t begin, const ByteRange& other) { return begin < other.end; });
  // Empty ranges share nothing.
  while (candidate != ranges.end() && candidate->begin == candidate->end) ++candidate;
  return candidate != ranges.end() && range.begin < range.end && candidate->begin < range.end;
}

}  // namespace horizon
