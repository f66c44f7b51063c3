#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace fake_cuda {

// A hash of host bytes, to see whether someone changed them.
uint64_t HashBytes(const void* bytes, uint64_t count);

// The page-locked ranges of the host.
class HostRanges {
 public:
  // False when it overlaps one.
  bool Add(void* begin, uint64_t bytes, bool allocated);
  // The bytes of the range that begins there, or 0.
  uint64_t Find(const void* begin) const;
  // Whether the fake itself allocated it.
  bool IsAllocated(const void* begin) const;
  void Remove(const void* begin);
  bool Contains(const void* begin, uint64_t bytes) const;
  uint64_t total_bytes() const { return total_bytes_; }
  const auto& ranges() const { return ranges_; }

 private:
  struct Range {
    uint64_t bytes = 0;
    bool allocated = false;
  };
  std::map<const std::byte*, Range> ranges_;
  uint64_t total_bytes_ = 0;
};

}  // namespace fake_cuda
