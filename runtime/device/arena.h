#pragma once

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

// Who has which part of a device's memory: offsets only, first fit, neighbours joined when freed. A
// run allocates a few times and keeps it, so nothing here is clever. Not for several threads.
class Arena {
 public:
  explicit Arena(Bytes capacity);

  // An offset, a multiple of kDeviceAlignment, of `bytes` (> 0). Errors as Device::Allocate.
  absl::StatusOr<uint64_t> Allocate(Bytes bytes);
  // `offset`: from Allocate, not freed since.
  void Free(uint64_t offset);
  // Whether [offset, offset + bytes) lies within one allocation, as it was asked for.
  bool Contains(uint64_t offset, Bytes bytes) const;

  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }
  Bytes high_water() const { return high_water_; }

 private:
  struct Taken {
    Bytes asked;
    Bytes size;  // asked, rounded up, but not past the end
  };

  Bytes LargestFree() const;

  const Bytes capacity_;
  Bytes used_;
  Bytes high_water_;
  std::map<uint64_t, Taken> taken_;  // by offset
  std::map<uint64_t, Bytes> free_;   // offset -> size; no two touch
};

}  // namespace horizon
