#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace horizon {

// One use of a chunk's weights by compute.
struct RingUse {
  int32_t slot = 0;
  bool loads = false;  // the chunk is not in the ring and must be loaded
};

// Assigns the slots of the ring of weight buffers before anything runs; the sequence of uses is
// known. A chunk that is still in the ring is used where it is. Otherwise it takes the slot of the
// chunk that is needed again last; of chunks that are never needed again, the one released first.
// (This is Belady's optimal replacement.) So chunks stay in the ring around the turn from forward
// or recompute to backward, and no chunk is loaded twice that a ring of this depth could have held.
std::vector<RingUse> AssignRing(std::span<const int32_t> chunk_of_use, int32_t depth);

}  // namespace horizon
