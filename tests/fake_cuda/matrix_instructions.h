#pragma once

#include <cstdint>
#include <span>

#include "tests/fake_cuda/collectives.h"

namespace fake_cuda {

// What a thread passes to a matrix instruction and receives from it (Arrival::operands).
struct MatrixLoad {
  uint32_t row;  // place of the row that the thread names
  bool transposed;
  uint32_t pairs[4];  // result
};
struct MatrixMultiply {
  uint32_t a[4];
  uint32_t b[2];
  float sums[4];  // C before, D after
};

// Where the elements of a fragment are in their matrix, by the tables "Matrix Fragments for
// mma.m16n8k16 with floating point type" of the PTX manual. Element 2 i is the lower half of
// register i, 2 i + 1 the upper half.
struct Place {
  int row;
  int column;
  friend bool operator==(const Place&, const Place&) = default;
};
Place PlaceInA(int warp_lane, int element);     // 8 elements a thread, 16 x 16
Place PlaceInB(int warp_lane, int element);     // 4 elements a thread, 16 x 8
Place PlaceInSums(int warp_lane, int element);  // 4 elements a thread, 16 x 8

// Execute the instruction for all 32 threads of a warp, the first of which is `first_thread` of the
// thread block.
void ExecuteLoad(std::span<const Arrival> warp_lanes, unsigned first_thread);
void ExecuteMultiply(std::span<const Arrival> warp_lanes);

}  // namespace fake_cuda
