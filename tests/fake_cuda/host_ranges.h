#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace fake_cuda {

// Hashes host bytes, so that a later hash shows whether they were changed.
uint64_t HashBytes(const void* bytes, uint64_t count);

// The ranges of host memory that are page-locked, by cudaHostRegister or cudaHostAlloc.
class HostRanges {
 public:
  // Returns false when the range overlaps one that is there already. `allocated`: the fake
  // allocated the memory itself (cudaHostAlloc).
  bool Add(void* begin, uint64_t bytes, bool allocated);
  // The size of the range that begins at `begin`, or 0 where none does.
  uint64_t Find(const void* begin) const;
  // Whether the fake itself allocated the range that begins at `begin`.
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
