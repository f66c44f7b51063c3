#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace horizon {

// One use of a chunk's weights by compute.
struct RingUse {
  int32_t slot = 0;
  bool loads = false;  // the chunk is not in the ring and has to cross the link
};

// Assigns the slots of the buffer ring for a known sequence of uses, before anything runs. A chunk
// that is still in the ring is used where it is; otherwise it takes the slot whose chunk is needed
// again last (never again: the one released first). That keeps the chunks around a turn, from
// forward to backward or from recompute to backward, and loads no chunk twice that a ring of this
// depth could have held.
std::vector<RingUse> AssignRing(std::span<const int32_t> chunk_of_use, int32_t depth);

}  // namespace horizon
