#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/common/files/memory_io.h"

namespace horizon {

// What a power cut does to changes that were not synced. `some` and `torn` follow from the seed.
struct PowerCut {
  enum class Writes {
    kAll,    // every one is on the disk
    kNone,   // none is
    kSome,   // some are, in whatever order
    kTorn,   // of each, some of the blocks of 4 KiB are
    kZeros,  // the file has its length, and zeros where the bytes were to be
  };
  enum class Names { kKept, kLost, kSome };

  size_t changes = 0;  // how many were made before the cut
  Writes writes = Writes::kNone;
  Names names = Names::kKept;
  uint64_t seed = 0;
};

// The tree found after the cut. A file's sync saves what was written to it, a folder's sync the
// names in it; neither saves the other, nor the name of what is synced. A rename is kept or lost as
// a whole.
MemoryTree AfterPowerCut(const MemoryIo& io, const PowerCut& cut);

}  // namespace horizon
