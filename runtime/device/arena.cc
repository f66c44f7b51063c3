#include "runtime/device/arena.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "common/check.h"
#include "common/checked.h"
#include "common/text/str_cat.h"
#include "runtime/device/device.h"

namespace horizon {

Arena::Arena(Bytes capacity) : capacity_(capacity) {
  if (capacity > 0_B) free_.emplace(0, capacity);
}

absl::StatusOr<uint64_t> Arena::Allocate(Bytes bytes) {
  CHECK(bytes > 0_B);
  const auto piece =
      std::find_if(free_.begin(), free_.end(), [&](const auto& p) { return p.second >= bytes; });
  if (piece == free_.end()) {
    const std::string figures = StrCat("asked for ", bytes.value(), " bytes of device memory with ",
                                       used_.value(), " of ", capacity_.value(), " in use");
    if (bytes <= capacity_ - used_) {
      return absl::ResourceExhaustedError(
          StrCat(figures, "; enough is free, but the largest piece is ", LargestFree().value(),
                 " bytes: allocate once, or larger first"));
    }
    return absl::ResourceExhaustedError(
        StrCat(figures,
               "; lower the micro-batch, the chunk size or the buffer depth of the plan, or "
               "give the device more memory"));
  }
  const auto [offset, size] = *piece;
  // Only the last piece can end off the alignment: what is left of it is then the allocation's.
  const Bytes take = std::min(size, bytes.RoundedUp(kDeviceAlignment));
  free_.erase(piece);
  if (take < size) free_.emplace(offset + take.value(), size - take);
  taken_.emplace(offset, Taken{.asked = bytes, .size = take});
  used_ += take;
  high_water_ = std::max(high_water_, used_);
  return offset;
}

void Arena::Free(uint64_t offset) {
  const auto taken = taken_.find(offset);
  CHECK(taken != taken_.end());
  Bytes size = taken->second.size;
  taken_.erase(taken);
  used_ -= size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size.value()) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.value() == offset) {
      before->second += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

bool Arena::Contains(uint64_t offset, Bytes bytes) const {
  auto taken = taken_.upper_bound(offset);
  if (taken == taken_.begin()) return false;
  --taken;
  const Bytes into(offset - taken->first);
  return into <= taken->second.asked && bytes <= taken->second.asked - into;
}

Bytes Arena::LargestFree() const {
  Bytes largest;
  for (const auto& [offset, size] : free_) largest = std::max(largest, size);
  return largest;
}

}  // namespace horizon
