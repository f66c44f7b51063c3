#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/fake_cuda/include/fake_cuda_threads.h"

namespace fake_cuda {

// Where a thread of a block stands. It is ready when it neither waits (meeting kNone) nor has
// returned.
struct Arrival {
  Meeting meeting = Meeting::kNone;
  uint32_t mask = 0;   // of the warp's lanes, for all but kBarrier
  uint64_t bits = 0;   // given; then, when all have come, what the thread gets
  int from = 0;        // kShuffle: the lane of the warp whose bits it gets
  unsigned bytes = 0;  // kShuffle: of the value
  bool returned = false;
};

struct WarpProgress {
  bool any = false;                 // some lanes are ready again
  bool whole_warp_barrier = false;  // __syncwarp of all lanes there are
  std::string fault;                // why lanes that wait will never go on
};
// Of the lanes of one warp, none of them ready: lets those go on whose mask is complete. All lanes
// a mask names must make the same call with the same mask; none may have returned or stand at a
// barrier of the block.
WarpProgress ResolveWarp(std::span<Arrival> lanes);

struct BlockProgress {
  bool any = false;   // the barrier has been passed; else the block has ended
  std::string fault;  // some wait at the barrier, others have returned
};
// Of all threads of a block, each one returned or at kBarrier.
BlockProgress ResolveBlock(std::span<Arrival> threads);

}  // namespace fake_cuda
