#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/fake_cuda/include/fake_cuda_threads.h"

namespace fake_cuda {

// Decides when threads that wait for each other at barriers, shuffles and votes may go on.

// The state of one thread of a thread block. The thread is ready when it neither waits (collective
// is kNone) nor has returned.
struct Arrival {
  Collective collective = Collective::kNone;
  uint32_t mask = 0;         // the warp lanes that take part, for all but kBarrier
  uint64_t bits = 0;         // what the thread passed; once the call is complete, its result
  int from = 0;              // kShuffle: the warp lane that provides the result
  unsigned bytes = 0;        // kShuffle: size of the value; kMatrixLoad: 1 if transposed
  void* operands = nullptr;  // kMatrixLoad, kMatrixMultiply: on the thread's stack
  bool returned = false;
};

struct WarpProgress {
  bool any = false;                 // some warp lanes are ready again
  bool whole_warp_barrier = false;  // a __syncwarp of all warp lanes that exist was completed
  // A matrix instruction for which all 32 threads wait: the caller executes it, and then its warp
  // lanes are ready.
  Collective instruction = Collective::kNone;
  std::string fault;  // why warp lanes that wait will never go on
};
// Completes the calls of one warp, none of whose warp lanes is ready: every call for which all warp
// lanes of its mask wait. All warp lanes that a mask names must make the same call with the same
// mask; none of them may have returned or wait at a barrier of the thread block.
WarpProgress ResolveWarp(std::span<Arrival> warp_lanes);

struct ThreadBlockProgress {
  bool any = false;   // the barrier was passed; otherwise the thread block has ended
  std::string fault;  // set when some threads wait at the barrier and others have returned
};
// Completes the barrier of a thread block, each of whose threads has returned or waits at kBarrier.
ThreadBlockProgress ResolveThreadBlock(std::span<Arrival> threads);

}  // namespace fake_cuda
