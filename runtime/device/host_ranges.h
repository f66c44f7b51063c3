#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "absl/status/status.h"

namespace horizon {

// The host memory that is registered with a device: a set of ranges that do not overlap. Not
// thread-safe.
class HostRanges {
 public:
  // InvalidArgument for an empty range or one that shares a byte with another.
  absl::Status Add(std::span<const std::byte> memory);
  // InvalidArgument unless exactly this range was added.
  absl::Status Remove(std::span<const std::byte> memory);
  // Whether the bytes are within one range.
  bool Contains(const std::byte* data, uint64_t bytes) const;

 private:
  std::map<uintptr_t, uint64_t> ranges_;  // address -> bytes
};

}  // namespace horizon
