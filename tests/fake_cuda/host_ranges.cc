#include "tests/fake_cuda/host_ranges.h"

#include <cstring>
#include <iterator>

namespace fake_cuda {

uint64_t HashBytes(const void* bytes, uint64_t count) {
  const auto* at = static_cast<const std::byte*>(bytes);
  uint64_t hash = count;
  for (; count >= 8; at += 8, count -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, at, count);
  return (hash ^ rest) * 0x9E3779B97F4A7C15;
}

bool HostRanges::Add(void* begin, uint64_t bytes, bool allocated) {
  const auto* first = static_cast<const std::byte*>(begin);
  const auto next = ranges_.lower_bound(first);
  if (next != ranges_.end() && next->first < first + bytes) return false;
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes > first) return false;
  }
  ranges_[first] = {bytes, allocated};
  total_bytes_ += bytes;
  return true;
}

uint64_t HostRanges::Find(const void* begin) const {
  const auto found = ranges_.find(static_cast<const std::byte*>(begin));
  return found == ranges_.end() ? 0 : found->second.bytes;
}

bool HostRanges::IsAllocated(const void* begin) const {
  const auto found = ranges_.find(static_cast<const std::byte*>(begin));
  return found != ranges_.end() && found->second.allocated;
}

void HostRanges::Remove(const void* begin) {
  total_bytes_ -= Find(begin);
  ranges_.erase(static_cast<const std::byte*>(begin));
}

bool HostRanges::Contains(const void* begin, uint64_t bytes) const {
  const auto* first = static_cast<const std::byte*>(begin);
  const auto next = ranges_.upper_bound(first);
  if (next == ranges_.begin()) return false;
  const auto& [start, range] = *std::prev(next);
  const auto offset = static_cast<uint64_t>(first - start);
  return offset <= range.bytes && bytes <= range.bytes - offset;
}

}  // namespace fake_cuda
