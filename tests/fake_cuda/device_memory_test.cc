// Device memory: who touches what he may not ends the process, with a line that says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda_launch.cuh"
#include "kernels/cuda/cuda_numbers.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

using DeviceMemory = fake_cuda::DeviceTest;

__global__ void Set(int* array, size_t index, int value) { array[index] = value; }
__global__ void Get(const int* array, size_t index, int* out) { out[0] = array[index]; }

TEST_F(DeviceMemory, BeginsAsNanAndKeepsWhatIsWritten) {
  int* array = Allocate<int>(100);
  EXPECT_EQ(Download(array, 100), std::vector<int>(100, -1));
  ASSERT_EQ(Launch(Set, LaunchShape{1, 1}, stream_, array, 99u, 7).code, 0);
  EXPECT_EQ(Download(array, 100)[99], 7);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array) % 256, 0u);
}

TEST_F(DeviceMemory, IsClosedToTheHost) {
  int* array = Allocate<int>(4);
  EXPECT_DEATH(array[1] = 1, "the host touches device memory, byte 4 of an allocation of 16 bytes");
  const volatile int* reading = array;
  EXPECT_DEATH(static_cast<void>(reading[0]), "the host touches device memory, byte 0");
}

TEST_F(DeviceMemory, WriteJustBehindTheEndIsFound) {
  int* array = Allocate<int>(100);
  ASSERT_EQ(Launch(Set, LaunchShape{1, 1}, stream_, array, 100u, 7).code, 0);
  EXPECT_TRUE(Found("wrote behind the end of an allocation of 400 bytes"));
}

TEST_F(DeviceMemory, AccessPastThePageIsFoundWithTheThread) {
  int* array = Allocate<int>(64);  // 256 bytes: the page ends with it
  int* out = Allocate<int>(1);
  ASSERT_EQ(Launch(Get, LaunchShape{1, 1}, stream_, array, 64u, out).code, 0);
  EXPECT_DEATH(cudaDeviceSynchronize(),
               "a thread touches what it may not, 0 bytes behind the end of an allocation of 256 "
               "bytes, in the kernel launched at .*device_memory_test.cc.*thread \\(0, 0, 0\\)");
}

TEST_F(DeviceMemory, WriteBeforeTheBeginIsFound) {
  int* array = Allocate<int>(64);
  ASSERT_EQ(Launch(Set, LaunchShape{1, 1}, stream_, array, ~size_t{0}, 7).code, 0);
  EXPECT_TRUE(Found("before the begin of an allocation of 256 bytes"));
}

TEST_F(DeviceMemory, FreedMemoryIsClosed) {
  int* array = Allocate<int>(64);
  int* kept = Allocate<int>(1);
  ASSERT_EQ(cudaFree(array), cudaSuccess);
  EXPECT_EQ(cudaFree(array), cudaErrorInvalidValue);
  EXPECT_TRUE(Found("cudaFree of byte 0 of a freed allocation of 256 bytes"));
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  ASSERT_EQ(Launch(Get, LaunchShape{1, 1}, stream_, array, 3u, kept).code, 0);
  EXPECT_EQ(fake_cuda::TakeFaults().size(), 1u);  // the launch is given a dead pointer
  EXPECT_DEATH(cudaDeviceSynchronize(), "byte 12 of a freed allocation of 256 bytes");
}

TEST_F(DeviceMemory, KernelIsNotGivenAPointerOfTheHost) {
  int on_host = 0;
  ASSERT_EQ(Launch(Set, LaunchShape{1, 1}, stream_, &on_host, 0u, 7).code, 0);
  EXPECT_TRUE(Found("is given a pointer to an address that is not of device memory"));
}

__global__ void CopyFours(const uint16_t* from, uint16_t* to) {
  StoreVector(to, LoadVector<4>(from));
}

TEST_F(DeviceMemory, VectorAccessIsAligned) {
  const uint16_t* from = Upload(std::vector<uint16_t>{1, 2, 3, 4, 5, 6, 7, 8});
  uint16_t* to = Allocate<uint16_t>(8);
  ASSERT_EQ(Launch(CopyFours, LaunchShape{1, 1}, stream_, from + 4, to).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(to, 4), (std::vector<uint16_t>{5, 6, 7, 8}));
  ASSERT_EQ(Launch(CopyFours, LaunchShape{1, 1}, stream_, from + 1, to).code, 0);
  EXPECT_TRUE(Found("a vector access of 8 bytes at an address 2 past a multiple of that"));
}

TEST_F(DeviceMemory, FaultEndsTheProcessUnlessCollected) {
  const uint16_t* from = Upload(std::vector<uint16_t>(8, 1));
  uint16_t* to = Allocate<uint16_t>(8);
  ASSERT_EQ(Launch(CopyFours, LaunchShape{1, 1}, stream_, from, to + 1).code, 0);
  fake_cuda::CollectFaults(false);
  EXPECT_DEATH(cudaDeviceSynchronize(), "fake CUDA: a vector access of 8 bytes");
  fake_cuda::CollectFaults(true);
  EXPECT_TRUE(Found("a vector access of 8 bytes"));
}

TEST_F(DeviceMemory, IsAsLargeAsTheDeviceIsSaidToBe) {
  fake_cuda::Reset({.devices = {{.memory_bytes = 1000'000, .memory_of_others_bytes = 100'000}}});
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 900'000u);
  EXPECT_EQ(total, 1000'000u);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(cudaMalloc(&first, 800'000), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 100'001), cudaErrorMemoryAllocation);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 100'001), cudaSuccess);
  EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{"100001 bytes of device memory"});
  ASSERT_EQ(cudaFree(second), cudaSuccess);
  EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{});
}

TEST_F(DeviceMemory, LargeReservationTakesNoMemoryUntilWritten) {
  fake_cuda::Reset({.devices = {{.memory_bytes = uint64_t{80} << 30}}});
  std::byte* arena = nullptr;
  ASSERT_EQ(cudaMalloc(&arena, size_t{79} << 30), cudaSuccess);
  const int value = 5;
  fake_cuda::WriteDevice(arena + (size_t{78} << 30), &value, sizeof(value));
  int got = 0;
  fake_cuda::ReadDevice(&got, arena + (size_t{78} << 30), sizeof(got));
  EXPECT_EQ(got, 5);
  ASSERT_EQ(cudaFree(arena), cudaSuccess);
}

__global__ void Blockwise(unsigned* last) { last[0] = blockIdx.x; }

// A kernel whose result depends on the order of blocks shows it under some seeds.
TEST_F(DeviceMemory, BlocksRunInAnOrderOfTheSeed) {
  std::vector<unsigned> seen;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    fake_cuda::Reset({.seed = seed});
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    unsigned* last = Allocate<unsigned>(1);
    ASSERT_EQ(Launch(Blockwise, LaunchShape{50, 1}, stream_, last).code, 0);
    seen.push_back(Download(last, 1)[0]);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_GE(std::unique(seen.begin(), seen.end()) - seen.begin(), 4);
}

}  // namespace
}  // namespace horizon
