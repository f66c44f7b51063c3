#pragma once

#include <cstdint>
#include <map>

#include "common/units.h"

namespace horizon {

// Records which bytes of a tensor were written, and the CRC-32C of each contiguous run of them.
// Ranges come in any order and are merged where they touch. Used by one thread.
class WrittenRanges {
 public:
  // Whether none of the bytes [begin, end) was written yet; end >= begin.
  bool IsFree(uint64_t begin, uint64_t end) const;
  // Records bytes [begin, end), none of which may have been written before, with their CRC.
  void Add(uint64_t begin, uint64_t end, uint32_t crc);

  // Whether exactly [0, bytes) was written.
  bool IsWhole(Bytes bytes) const;
  // The CRC of a tensor that was written completely; 0, the CRC of no bytes, when nothing was
  // written.
  uint32_t crc32c() const { return runs_.empty() ? 0 : runs_.begin()->second.crc; }
  // The first byte that was not written.
  uint64_t FirstMissing() const;

 private:
  struct Run {
    uint64_t end = 0;
    uint32_t crc = 0;
  };
  std::map<uint64_t, Run> runs_;  // by first byte; each has bytes, and no two touch
};

}  // namespace horizon
