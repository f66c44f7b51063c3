#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/common/files/memory_io.h"

namespace horizon {

// What a power cut does to changes that were not synced. The seed decides which changes survive
// with kSome and kTorn.
struct PowerCut {
  enum class Writes {
    kAll,    // every write is on the disk
    kNone,   // no write is
    kSome,   // some writes are, others, even earlier ones, are not
    kTorn,   // of each write, some 4 KiB disk blocks are
    kZeros,  // the file has its new length, but zeros in place of the written bytes
  };
  enum class Names { kKept, kLost, kSome };

  size_t changes = 0;  // the cut happens after so many changes of the MemoryIo
  Writes writes = Writes::kNone;
  Names names = Names::kKept;  // what happens to created, removed and renamed names
  uint64_t seed = 0;
};

// The tree that is found after the cut. Syncing a file saves what was written to it; syncing a
// folder saves the names in it. Neither saves the other, nor the name of the synced file or folder
// itself. A rename survives or is lost as a whole.
MemoryTree AfterPowerCut(const MemoryIo& io, const PowerCut& cut);

}  // namespace horizon
