#include "runtime/device/host_ranges.h"

#include <iterator>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

uintptr_t Address(const std::byte* data) { return reinterpret_cast<uintptr_t>(data); }

}  // namespace

absl::Status HostRanges::Add(std::span<const std::byte> memory) {
  if (memory.empty()) return absl::InvalidArgumentError("registering host memory of 0 bytes");
  const uintptr_t begin = Address(memory.data());
  const auto next = ranges_.lower_bound(begin);
  const bool meets_next = next != ranges_.end() && next->first - begin < memory.size();
  const bool meets_before =
      next != ranges_.begin() && begin - std::prev(next)->first < std::prev(next)->second;
  if (meets_next || meets_before) {
    return absl::InvalidArgumentError(StrCat("registering ", memory.size(),
                                             " bytes of host memory: some are registered already"));
  }
  ranges_.emplace_hint(next, begin, memory.size());
  return absl::OkStatus();
}

absl::Status HostRanges::Remove(std::span<const std::byte> memory) {
  const auto range = ranges_.find(Address(memory.data()));
  if (range == ranges_.end() || range->second != memory.size()) {
    return absl::InvalidArgumentError(StrCat("unregistering ", memory.size(),
                                             " bytes of host memory: no such range is registered"));
  }
  ranges_.erase(range);
  return absl::OkStatus();
}

bool HostRanges::Contains(const std::byte* data, uint64_t bytes) const {
  auto range = ranges_.upper_bound(Address(data));
  if (range == ranges_.begin()) return false;
  --range;
  const uint64_t into = Address(data) - range->first;
  return into <= range->second && bytes <= range->second - into;
}

}  // namespace horizon
