#pragma once

#include <cstdint>

#include "tests/fake_cuda/include/fake_cuda_shared.h"

namespace fake_cuda {

// The counter of bank conflicts (CountBankConflicts in fake_cuda_control.h). Shared memory has 32
// banks of 4-byte words. The accesses that the threads of a warp make together take one pass more
// for each further word of a bank. Accesses of 8 bytes are made by half a warp at a time, those of
// 16 bytes by a quarter.

// Counts one ldmatrix.x4 of the rows of 16 bytes: eight rows at a time. Takes all 32 places.
void CountMatrixLoad(const uint32_t (&rows)[32]);

// Counts what the running warp has logged (LogSharedAccess), and forgets it. Called whenever all
// its threads have stopped at a collective call or returned. The n-th accesses of its threads since
// the last time are taken to be one instruction if they are alike in kind, array and size.
void CountLoggedAccesses();

}  // namespace fake_cuda
