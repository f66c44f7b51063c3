#pragma once

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

// Keeps account of which parts of a device's memory are allocated. It works on offsets only and
// never touches the memory itself. Allocation is first fit, and freed neighbours are merged. A run
// allocates a few times and keeps what it has, so a simple algorithm is enough. Not thread-safe.
class Arena {
 public:
  explicit Arena(Bytes capacity);

  // Returns the offset, a multiple of kDeviceAlignment, of a new allocation of `bytes` (> 0).
  // Errors as in Device::Allocate.
  absl::StatusOr<uint64_t> Allocate(Bytes bytes);
  // `offset` was returned by Allocate and has not been freed since.
  void Free(uint64_t offset);
  // Whether [offset, offset + bytes) is within one allocation, counted in the bytes that were asked
  // for, not the rounded-up size.
  bool Contains(uint64_t offset, Bytes bytes) const;

  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }
  Bytes high_water() const { return high_water_; }

 private:
  struct Taken {
    Bytes asked;
    Bytes size;  // `asked` rounded up to kDeviceAlignment, but not past the end of the memory
  };

  Bytes LargestFree() const;

  const Bytes capacity_;
  Bytes used_;
  Bytes high_water_;
  std::map<uint64_t, Taken> taken_;  // by offset
  std::map<uint64_t, Bytes> free_;   // offset -> size; neighbours are always merged
};

}  // namespace horizon
