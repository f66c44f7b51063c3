// Each check of shared memory finds its planted bug and lets the correct twin pass.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kernels/cuda/cuda_launch.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

using SharedMemory = fake_cuda::DeviceTest;

// out[i] = in[last - i] by way of shared memory; `with_barrier` makes it right.
__global__ void Reverse(const int* in, int* out, bool with_barrier) {
  __shared__ Shared<int, 128> tile;
  tile[threadIdx.x] = in[threadIdx.x];
  if (with_barrier) __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

TEST_F(SharedMemory, IsReadAfterTheBarrier) {
  std::vector<int> values(128);
  std::iota(values.begin(), values.end(), 0);
  const int* in = Upload(values);
  int* out = Allocate<int>(128);
  ASSERT_EQ(Launch(Reverse, LaunchShape{3, 128}, stream_, in, out, true).code, 0);
  EXPECT_FALSE(Found(""));
  const std::vector<int> reversed(values.rbegin(), values.rend());
  EXPECT_EQ(Download(out, 128), reversed);
}

TEST_F(SharedMemory, RemovedBarrierIsFound) {
  const int* in = Upload(std::vector<int>(128, 1));
  int* out = Allocate<int>(128);
  ASSERT_EQ(Launch(Reverse, LaunchShape{1, 128}, stream_, in, out, false).code, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<std::string> faults = fake_cuda::TakeFaults();
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find("shared cell"), std::string::npos) << faults[0];
  EXPECT_NE(faults[0].find("shared_memory_test.cc"), std::string::npos) << faults[0];
}

// The second round overwrites what slow threads of the first still read.
__global__ void Rounds(int* out, bool with_second_barrier) {
  __shared__ Shared<int, 64> tile;
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = round;
    __syncthreads();
    sum += tile[(threadIdx.x + 33) % 64];
    if (with_second_barrier) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

TEST_F(SharedMemory, ReuseNeedsASecondBarrier) {
  int* out = Allocate<int>(64);
  ASSERT_EQ(Launch(Rounds, LaunchShape{1, 64}, stream_, out, true).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 64), std::vector<int>(64, 1));
  ASSERT_EQ(Launch(Rounds, LaunchShape{1, 64}, stream_, out, false).code, 0);
  EXPECT_TRUE(Found("without a barrier between"));
}

// Only `writers` threads fill the tile that thread 0 adds up.
__global__ void AddUp(int* out, unsigned writers) {
  __shared__ Shared<int, 32> tile;
  if (threadIdx.x < writers) tile[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int i = 0; i < 32; ++i) sum += tile[i];
  out[blockIdx.x] = sum;
}

TEST_F(SharedMemory, CellNobodyWroteInThisBlockIsNotRead) {
  int* out = Allocate<int>(2);
  ASSERT_EQ(Launch(AddUp, LaunchShape{2, 32}, stream_, out, 32u).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 2), (std::vector<int>{32, 32}));
  // The blocks before wrote every cell; this one does not write the last.
  ASSERT_EQ(Launch(AddUp, LaunchShape{1, 32}, stream_, out, 31u).code, 0);
  EXPECT_TRUE(Found("read of shared cell 31, which the block never wrote"));
}

__global__ void WriteAt(int index) {
  __shared__ Shared<float, 16> tile;
  tile[index] = 1.0f;
}

TEST_F(SharedMemory, IndexOutsideIsFound) {
  ASSERT_EQ(Launch(WriteAt, LaunchShape{1, 1}, stream_, 15).code, 0);
  EXPECT_FALSE(Found(""));
  ASSERT_EQ(Launch(WriteAt, LaunchShape{1, 1}, stream_, 16).code, 0);
  EXPECT_TRUE(Found("index 16 of a shared array of 16"));
  ASSERT_EQ(Launch(WriteAt, LaunchShape{1, 1}, stream_, -1).code, 0);
  EXPECT_TRUE(Found("index -1 of a shared array of 16"));
}

__global__ void AllWriteOneCell(unsigned threads) {
  __shared__ Shared<int, 1> cell;
  if (threadIdx.x < threads) cell[0] = 1;
}

TEST_F(SharedMemory, TwoWritersOfACellAreFound) {
  ASSERT_EQ(Launch(AllWriteOneCell, LaunchShape{1, 64}, stream_, 1u).code, 0);
  EXPECT_FALSE(Found(""));
  ASSERT_EQ(Launch(AllWriteOneCell, LaunchShape{1, 64}, stream_, 2u).code, 0);
  EXPECT_TRUE(Found("write of shared cell 0, written by thread"));
}

// Neighbours in a warp exchange through shared memory, ordered by __syncwarp or by nothing.
__global__ void SwapInWarp(int* out, bool with_barrier) {
  __shared__ Shared<int, 64> tile;
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (with_barrier) __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
// __syncwarp does not order two warps.
__global__ void SwapWarps(int* out) {
  __shared__ Shared<int, 64> tile;
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

TEST_F(SharedMemory, SyncwarpOrdersTheLanesOfAWarpOnly) {
  int* out = Allocate<int>(64);
  ASSERT_EQ(Launch(SwapInWarp, LaunchShape{1, 64}, stream_, out, true).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 64)[10], 11);
  ASSERT_EQ(Launch(SwapInWarp, LaunchShape{1, 64}, stream_, out, false).code, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_FALSE(fake_cuda::TakeFaults().empty());
  ASSERT_EQ(Launch(SwapWarps, LaunchShape{1, 64}, stream_, out).code, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_FALSE(fake_cuda::TakeFaults().empty());
}

__global__ void Count(int* out, bool read_early) {
  __shared__ Shared<int, 1> count;
  if (threadIdx.x == 0) count[0] = 0;
  __syncthreads();
  atomicAdd(&count[0], 2);
  if (!read_early) __syncthreads();
  out[threadIdx.x] = count[0];
}

TEST_F(SharedMemory, AtomicsDoNotRaceWithEachOther) {
  int* out = Allocate<int>(96);
  ASSERT_EQ(Launch(Count, LaunchShape{1, 96}, stream_, out, false).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 96), std::vector<int>(96, 192));
  ASSERT_EQ(Launch(Count, LaunchShape{1, 96}, stream_, out, true).code, 0);
  EXPECT_TRUE(Found("without a barrier between"));
}

}  // namespace
}  // namespace horizon
