#include "runtime/checkpoint/written_ranges.h"

#include <iterator>

#include "common/check.h"
#include "common/crc32c.h"

namespace horizon {

bool WrittenRanges::IsFree(uint64_t begin, uint64_t end) const {
  if (begin == end) return true;
  const auto after = runs_.lower_bound(begin);
  if (after != runs_.end() && after->first < end) return false;
  return after == runs_.begin() || std::prev(after)->second.end <= begin;
}

void WrittenRanges::Add(uint64_t begin, uint64_t end, uint32_t crc) {
  CHECK(IsFree(begin, end));
  if (begin == end) return;
  auto run = runs_.emplace(begin, Run{end, crc}).first;
  if (const auto after = std::next(run); after != runs_.end() && after->first == end) {
    run->second.crc =
        Crc32cCombine(run->second.crc, after->second.crc, after->second.end - after->first);
    run->second.end = after->second.end;
    runs_.erase(after);
  }
  if (run == runs_.begin()) return;
  const auto before = std::prev(run);
  if (before->second.end != begin) return;
  before->second.crc = Crc32cCombine(before->second.crc, run->second.crc, run->second.end - begin);
  before->second.end = run->second.end;
  runs_.erase(run);
}

bool WrittenRanges::IsWhole(Bytes bytes) const {
  if (bytes == 0_B) return runs_.empty();
  return runs_.size() == 1 && runs_.begin()->first == 0 &&
         runs_.begin()->second.end == bytes.value();
}

uint64_t WrittenRanges::FirstMissing() const {
  return runs_.empty() || runs_.begin()->first != 0 ? 0 : runs_.begin()->second.end;
}

}  // namespace horizon
