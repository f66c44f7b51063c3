#pragma once

#include <cstdint>
#include <map>

#include "common/units.h"

namespace horizon {

// Which bytes of a tensor were written, and the CRC-32C of each unbroken run of them: ranges come
// in any order and are put together where they touch. One thread.
class WrittenRanges {
 public:
  // Whether none of the bytes is there yet; end >= begin.
  bool IsFree(uint64_t begin, uint64_t end) const;
  // Notes bytes [begin, end), which must be free, with their CRC.
  void Add(uint64_t begin, uint64_t end, uint32_t crc);

  // Whether all of [0, bytes) is there, and nothing else.
  bool IsWhole(Bytes bytes) const;
  // Of a whole tensor; 0, the value of no bytes, when nothing was written.
  uint32_t crc32c() const { return runs_.empty() ? 0 : runs_.begin()->second.crc; }
  // The first byte that is missing.
  uint64_t FirstMissing() const;

 private:
  struct Run {
    uint64_t end = 0;
    uint32_t crc = 0;
  };
  std::map<uint64_t, Run> runs_;  // by their first byte; never empty, never touching
};

}  // namespace horizon
