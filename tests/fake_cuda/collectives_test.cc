// Barriers, shuffles and votes: right values, and each way not to reach one is found.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/cuda_reduce.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

using Collectives = fake_cuda::DeviceTest;

__global__ void BarrierFor(unsigned threads) {
  if (threadIdx.x < threads) __syncthreads();
}

TEST_F(Collectives, BarrierIsReachedByAll) {
  ASSERT_EQ(Launch(BarrierFor, LaunchShape{2, 100}, stream_, 100u).code, 0);
  EXPECT_FALSE(Found(""));
  ASSERT_EQ(Launch(BarrierFor, LaunchShape{1, 100}, stream_, 99u).code, 0);
  EXPECT_TRUE(Found("waits at __syncthreads, but thread 99 has returned"));
  // The fibers that were left behind serve again.
  ASSERT_EQ(Launch(BarrierFor, LaunchShape{2, 100}, stream_, 100u).code, 0);
  EXPECT_FALSE(Found(""));
}

__global__ void ShuffleFor(unsigned lanes, unsigned mask, int* out) {
  if (threadIdx.x < lanes) out[threadIdx.x] = __shfl_xor_sync(mask, int(threadIdx.x), 1);
}

TEST_F(Collectives, ShuffleIsReachedByAllItsMaskNames) {
  int* out = Allocate<int>(32);
  ASSERT_EQ(Launch(ShuffleFor, LaunchShape{1, 32}, stream_, 32u, ~0u, out).code, 0);
  ASSERT_EQ(Launch(ShuffleFor, LaunchShape{1, 32}, stream_, 8u, 0xFFu, out).code, 0);
  EXPECT_FALSE(Found(""));
  ASSERT_EQ(Launch(ShuffleFor, LaunchShape{1, 32}, stream_, 31u, ~0u, out).code, 0);
  EXPECT_TRUE(Found("but lane 31 has returned"));
  ASSERT_EQ(Launch(ShuffleFor, LaunchShape{1, 32}, stream_, 8u, 0xFEu, out).code, 0);
  EXPECT_TRUE(Found("which does not name it"));
  ASSERT_EQ(Launch(ShuffleFor, LaunchShape{1, 16}, stream_, 16u, ~0u, out).code, 0);
  EXPECT_TRUE(Found("but the warp has 16 threads"));
}

__global__ void TakeFromOutside(int* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0xFu, 1, 7);
}

TEST_F(Collectives, ShuffleTakesFromItsMaskOnly) {
  int* out = Allocate<int>(4);
  ASSERT_EQ(Launch(TakeFromOutside, LaunchShape{1, 32}, stream_, out).code, 0);
  EXPECT_TRUE(Found("but takes the value of lane 7"));
}

__global__ void PartAtEach() {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

__global__ void PartsOfDifferentCalls() {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __all_sync(~0u, 1);
  }
}

TEST_F(Collectives, LanesMeetAtTheSameCall) {
  ASSERT_EQ(Launch(PartAtEach, LaunchShape{1, 32}, stream_).code, 0);
  EXPECT_TRUE(Found("waits at __syncthreads"));
  ASSERT_EQ(Launch(PartsOfDifferentCalls, LaunchShape{1, 32}, stream_).code, 0);
  EXPECT_TRUE(Found("wait for something else"));
}

// Two halves of a warp shuffle among themselves, then together.
__global__ void HalvesThenWhole(int* out) {
  int value = static_cast<int>(threadIdx.x);
  const unsigned mask = threadIdx.x < 16 ? 0xFFFFu : 0xFFFF0000u;
  for (int round = 0; round < (threadIdx.x < 16 ? 3 : 1); ++round) {
    value = __shfl_xor_sync(mask, value, 1);
  }
  out[threadIdx.x] = __shfl_sync(~0u, value, 31);
}

TEST_F(Collectives, MasksAreIndependentOfEachOther) {
  int* out = Allocate<int>(32);
  ASSERT_EQ(Launch(HalvesThenWhole, LaunchShape{1, 32}, stream_, out).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 32), std::vector<int>(32, 30));
}

__global__ void AllShuffles(int* out) {
  const int warp_lane = static_cast<int>(threadIdx.x);
  out[warp_lane] = __shfl_down_sync(~0u, warp_lane, 3u);
  out[32 + warp_lane] = __shfl_up_sync(~0u, warp_lane, 3u);
  out[64 + warp_lane] = __shfl_down_sync(~0u, warp_lane, 3u, 8);
  out[96 + warp_lane] = static_cast<int>(__ballot_sync(~0u, warp_lane % 5 == 0));
  out[128 + warp_lane] = __any_sync(~0u, warp_lane == 7) * 2 + __all_sync(~0u, warp_lane != 7);
  out[160 + warp_lane] = __syncthreads_count(warp_lane < 9);
}

TEST_F(Collectives, GiveWhatNvidiaDocuments) {
  int* out = Allocate<int>(192);
  ASSERT_EQ(Launch(AllShuffles, LaunchShape{1, 32}, stream_, out).code, 0);
  EXPECT_FALSE(Found(""));
  const std::vector<int> got = Download(out, 192);
  unsigned ballot = 0;
  for (unsigned warp_lane = 0; warp_lane < 32; warp_lane += 5) ballot |= 1u << warp_lane;
  for (int warp_lane = 0; warp_lane < 32; ++warp_lane) {
    const auto at = static_cast<size_t>(warp_lane);
    EXPECT_EQ(got[at], warp_lane + 3 < 32 ? warp_lane + 3 : warp_lane);
    EXPECT_EQ(got[32 + at], warp_lane >= 3 ? warp_lane - 3 : warp_lane);
    EXPECT_EQ(got[64 + at], warp_lane % 8 + 3 < 8 ? warp_lane + 3 : warp_lane);
    EXPECT_EQ(got[96 + at], static_cast<int>(ballot));
    EXPECT_EQ(got[128 + at], 2);
    EXPECT_EQ(got[160 + at], 9);
  }
}

template <typename T>
__global__ void Reduce(const T* in, T* sums, T* largest) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = BlockSum<128>(in[i]);
  largest[i] = BlockMax<128>(in[i]);
}

// The tree by hand: lanes that differ in one bit, the highest first, then warps in order.
template <typename T>
T TreeSum(std::vector<T> values) {
  T total = 0;
  for (size_t warp = 0; warp < values.size(); warp += 32) {
    for (size_t distance = 16; distance > 0; distance /= 2) {
      for (size_t i = 0; i < distance; ++i) values[warp + i] += values[warp + i + distance];
    }
    total = warp == 0 ? values[0] : total + values[warp];
  }
  return total;
}

template <typename T>
void ExpectReduced(const std::vector<T>& in, const std::vector<T>& sums,
                   const std::vector<T>& largest) {
  for (size_t block = 0; block < in.size(); block += 128) {
    const std::vector<T> part(in.begin() + static_cast<ptrdiff_t>(block),
                              in.begin() + static_cast<ptrdiff_t>(block + 128));
    for (size_t i = block; i < block + 128; ++i) {
      EXPECT_EQ(sums[i], TreeSum(part));
      EXPECT_EQ(largest[i], *std::max_element(part.begin(), part.end()));
    }
  }
}

TEST_F(Collectives, ReductionsHaveOneOrder) {
  std::vector<float> floats(256);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = 1.0f / static_cast<float>(i * 7 % 256 + 1);
  const std::vector<double> doubles(floats.begin(), floats.end());
  const float* in = Upload(floats);
  const double* in_doubles = Upload(doubles);
  float* out = Allocate<float>(512);
  double* out_doubles = Allocate<double>(512);
  ASSERT_EQ(Launch(Reduce<float>, LaunchShape{2, 128}, stream_, in, out, out + 256).code, 0);
  ASSERT_EQ(Launch(Reduce<double>, LaunchShape{2, 128}, stream_, in_doubles, out_doubles,
                   out_doubles + 256)
                .code,
            0);
  EXPECT_FALSE(Found(""));
  ExpectReduced(floats, Download(out, 256), Download(out + 256, 256));
  ExpectReduced(doubles, Download(out_doubles, 256), Download(out_doubles + 256, 256));
}

}  // namespace
}  // namespace horizon
