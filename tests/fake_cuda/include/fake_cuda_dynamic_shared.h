// The dynamic shared memory of a thread block, with the checks of Shared, and what moves data there
// asynchronously. A place is a number of bytes from its begin. Accesses are recorded for each two
// bytes, so threads may write the halves of a word.
#pragma once

#include <cstdint>

namespace fake_cuda {

// Ordinary loads and stores of 2, 4, 8 or 16 bytes at a multiple of that.
void ReadDynamicShared(uint32_t place, void* to, unsigned bytes);
void WriteDynamicShared(uint32_t place, const void* from, unsigned bytes);

// cp.async of 16 bytes from global memory, of which the first `source_bytes` are read and the rest
// becomes zero; cp.async.commit_group and cp.async.wait_group. A copy happens when the running
// thread waits for its group, and not before. Until then a read or write of its target by any
// thread is a fault; so is a source that changes, and a thread that returns without having waited.
// Afterwards it counts as a write of the running thread at that time: others need a barrier.
void CopyAsync(uint32_t to, const void* from, unsigned source_bytes);
void CommitCopies();
void WaitForCopies(unsigned most_pending_groups);

// ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16, of all 32 threads of a warp together: thread i
// gives the place of row i % 8 of matrix i / 8 and receives its pair of elements of each matrix.
void LoadMatrices(uint32_t row, bool transposed, uint32_t (&pairs)[4]);

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, of all 32 threads of a warp together. The
// products of an element are added to its sum in fp32 in ascending order of k; in which order a
// tensor core adds is not documented.
void MultiplyAdd(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

// cvt.rn.bf16x2.f32. NaN becomes 0x7FFF.
uint32_t RoundToBf16Pair(float low, float high);

}  // namespace fake_cuda
