#pragma once

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"

namespace horizon {

// Who has which part of a device's memory: offsets only, first fit, neighbours joined when freed. A
// run allocates a few times and keeps it, so nothing here is clever. Not for several threads.
class Arena {
 public:
  explicit Arena(uint64_t capacity);

  // An offset, a multiple of kDeviceAlignment, of `bytes` (> 0) bytes. Errors as Device::Allocate.
  absl::StatusOr<uint64_t> Allocate(uint64_t bytes);
  // `offset`: from Allocate, not freed since.
  void Free(uint64_t offset);
  // Whether [offset, offset + bytes) lies within one allocation, as it was asked for.
  bool Contains(uint64_t offset, uint64_t bytes) const;

  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }
  uint64_t high_water() const { return high_water_; }

 private:
  struct Taken {
    uint64_t asked = 0;
    uint64_t size = 0;  // asked, rounded up, but not past the end
  };

  uint64_t LargestFree() const;

  const uint64_t capacity_;
  uint64_t used_ = 0;
  uint64_t high_water_ = 0;
  std::map<uint64_t, Taken> taken_;    // by offset
  std::map<uint64_t, uint64_t> free_;  // offset -> size; no two touch
};

}  // namespace horizon
