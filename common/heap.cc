#include "common/heap.h"

#include <malloc.h>

namespace horizon {

void KeepHeapSmall() {
  constexpr int kOwnMappingBytes = 256 << 10;
  constexpr int kArenas = 2;
  // A C library without them keeps its defaults, which are safe.
  mallopt(M_MMAP_THRESHOLD, kOwnMappingBytes);
  mallopt(M_ARENA_MAX, kArenas);
}

}  // namespace horizon
