// Dynamic shared memory and asynchronous copies into it: each check finds its planted bug and lets
// the correct twin pass.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kernels/cuda/shared_tile.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

using DynamicSharedMemoryTest = fake_cuda::DeviceTest;
using AsyncCopies = fake_cuda::DeviceTest;

constexpr unsigned kThreads = 64;
constexpr size_t kFloats = size_t{kThreads} * 4;
constexpr unsigned kBytes = kThreads * 16;

__device__ uint32_t PlaceOf(size_t thread) { return static_cast<uint32_t>(thread * 16); }

// out[i] = in[i + 1] by way of ordinary accesses.
__global__ void Rotate(const uint16_t* in, uint16_t* out, bool with_barrier) {
  StoreShared(threadIdx.x * 2, Vector<uint16_t, 1>{{in[threadIdx.x]}});
  if (with_barrier) __syncthreads();
  out[threadIdx.x] = LoadShared<1, uint16_t>((threadIdx.x + 1) % blockDim.x * 2)[0];
}

TEST_F(DynamicSharedMemoryTest, IsReadAfterTheBarrier) {
  std::vector<uint16_t> values(kThreads);
  std::iota(values.begin(), values.end(), uint16_t{0});
  const uint16_t* in = Upload(values);
  uint16_t* out = Allocate<uint16_t>(kThreads);
  ASSERT_EQ(Launch(Rotate, LaunchShape{2, kThreads, 2 * kThreads}, stream_, in, out, true).code, 0);
  EXPECT_FALSE(Found(""));
  std::vector<uint16_t> expected(values.begin() + 1, values.end());
  expected.push_back(0);
  EXPECT_EQ(Download(out, kThreads), expected);
  ASSERT_EQ(Launch(Rotate, LaunchShape{1, kThreads, 2 * kThreads}, stream_, in, out, false).code,
            0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_FALSE(fake_cuda::TakeFaults().empty());
}

__global__ void ReadPlace(uint32_t place) { LoadShared<4, float>(place); }
__global__ void StorePlace(uint32_t place) { StoreShared(place, Vector<float, 4>{}); }

TEST_F(DynamicSharedMemoryTest, AccessesAreInsideAlignedAndNotOfEarlierBlocks) {
  ASSERT_EQ(Launch(StorePlace, LaunchShape{1, 1, 64}, stream_, 48u).code, 0);
  EXPECT_FALSE(Found(""));
  ASSERT_EQ(Launch(ReadPlace, LaunchShape{1, 1, 64}, stream_, 48u).code, 0);
  EXPECT_TRUE(Found("which the block never wrote"));
  ASSERT_EQ(Launch(StorePlace, LaunchShape{1, 1, 64}, stream_, 56u).code, 0);
  EXPECT_TRUE(Found("an access of 16 bytes to byte 56 of dynamic shared memory, which is no"));
  ASSERT_EQ(Launch(StorePlace, LaunchShape{1, 1, 64}, stream_, 64u).code, 0);
  EXPECT_TRUE(Found("an access of 16 bytes to byte 64 of dynamic shared memory, which has 64"));
  ASSERT_EQ(Launch(StorePlace, LaunchShape{1, 1}, stream_, 0u).code, 0);
  EXPECT_TRUE(Found("of dynamic shared memory, which has 0"));
}

__global__ void Nothing() {}
__global__ void NothingElse() {}

// Without the opt-in of horizon's Launch.
cudaError_t PlainLaunch(void (*kernel)(), unsigned bytes, cudaStream_t stream) {
  fake_cuda::Launch(kernel, 1, 32, bytes, stream, fake_cuda::CodePlace::Current());
  return cudaGetLastError();
}

TEST_F(DynamicSharedMemoryTest, MoreThan48KiBNeedsAnOptInForTheKernelAndDevice) {
  constexpr unsigned kMost = 48 << 10;
  constexpr auto kAttribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  fake_cuda::Reset({.devices = {{.most_shared_bytes = 99 << 10}, {.most_shared_bytes = 64 << 10}}});
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(PlainLaunch(Nothing, kMost, stream_), cudaSuccess);
  EXPECT_EQ(PlainLaunch(Nothing, kMost + 16, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(Nothing, kAttribute, 96 << 10), cudaSuccess);
  EXPECT_EQ(PlainLaunch(Nothing, 96 << 10, stream_), cudaSuccess);
  EXPECT_EQ(PlainLaunch(Nothing, (96 << 10) + 16, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(PlainLaunch(NothingElse, kMost + 16, stream_), cudaErrorInvalidValue);
  cudaFuncAttributes attributes{};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, Nothing), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 96 << 10);
  // What the device does not have is refused, and changes nothing.
  EXPECT_EQ(cudaFuncSetAttribute(Nothing, kAttribute, (99 << 10) + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(Nothing, kAttribute, -1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(PlainLaunch(Nothing, 96 << 10, stream_), cudaSuccess);
  int most = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 1), cudaSuccess);
  EXPECT_EQ(most, 64 << 10);
  // Another device has not heard of it.
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(PlainLaunch(Nothing, 64 << 10, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(fake_cuda::WorkCount(), 3U);
}

TEST_F(DynamicSharedMemoryTest, LaunchOptsInWhereItMust) {
  const uint64_t before = fake_cuda::CallCount();
  EXPECT_EQ(Launch(Nothing, LaunchShape{1, 32}, stream_).code, 0);
  const uint64_t without = fake_cuda::CallCount() - before;
  EXPECT_EQ(Launch(Nothing, LaunchShape{1, 32, 96 << 10}, stream_).code, 0);
  EXPECT_EQ(fake_cuda::CallCount() - before, 2 * without + 1);
  // Static shared memory may come on top, so less than 48 KiB may need it too.
  EXPECT_EQ(Launch(NothingElse, LaunchShape{1, 32, 40 << 10}, stream_).code, 0);
  EXPECT_EQ(fake_cuda::CallCount() - before, 3 * without + 2);
  EXPECT_EQ(Launch(Nothing, LaunchShape{1, 32, 164 << 10}, stream_).code, cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error was taken";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(fake_cuda::WorkCount(), 3U);
  fake_cuda::FailCall(1, cudaErrorUnknown, fake_cuda::Persistence::kOnce);
  EXPECT_EQ(Launch(Nothing, LaunchShape{1, 32, 96 << 10}, stream_).code, cudaErrorUnknown);
}

enum class Bug {
  kNone,
  kNoWait,
  kNoCommit,
  kCommitAfterWait,
  kNoBarrier,
  kBarrierBeforeWait,
  kStoreBeforeWait,
  kCopiedTwice,
  kSourceChanged,
  kNeverWaited,
  kTooManyBytes,
  kSourceMisaligned,
  kTargetMisaligned,
  kTargetOutside,
};

// Thread i copies the i-th 16 bytes of `in` and stores what thread i + 1 copied.
__global__ void CopyThrough(float* in, float* out, Bug bug, int bytes) {
  const size_t i = threadIdx.x;
  const size_t next = (i + 1) % kThreads;
  const auto* from = reinterpret_cast<const char*>(in + i * 4);
  uint32_t to = PlaceOf(i);
  if (bug == Bug::kSourceMisaligned) from += 4;
  if (bug == Bug::kTargetMisaligned) to += 8;
  if (bug == Bug::kTargetOutside) to += kBytes;
  if (bug == Bug::kTooManyBytes) bytes = 20;
  CopyAsync(to, from, bytes);
  if (bug == Bug::kCopiedTwice) CopyAsync(to, from, bytes);
  if (bug == Bug::kStoreBeforeWait) StoreShared(to, Vector<float, 4>{});
  if (bug != Bug::kNoCommit && bug != Bug::kCommitAfterWait) CommitCopies();
  if (bug == Bug::kSourceChanged) in[i * 4] += 1.0f;
  if (bug == Bug::kBarrierBeforeWait) __syncthreads();
  if (bug == Bug::kNeverWaited) return;
  if (bug != Bug::kNoWait) WaitForCopies<0>();
  if (bug == Bug::kCommitAfterWait) CommitCopies();
  if (bug != Bug::kNoBarrier && bug != Bug::kBarrierBeforeWait) __syncthreads();
  const Vector<float, 4> got = LoadShared<4, float>(PlaceOf(next));
  StoreVector(out + i * 4, got);
  __syncthreads();
  WaitForCopies<0>();
}

class CopyThroughTest : public fake_cuda::DeviceTest {
 protected:
  CopyThroughTest() : values(kFloats + 4) {
    std::iota(values.begin(), values.end(), 1.0f);
    in = Upload(values);
    out = Allocate<float>(kFloats);
  }
  void Run(Bug bug, int bytes = 16) {
    ASSERT_EQ(
        Launch(CopyThrough, LaunchShape{1, kThreads, kBytes}, stream_, in, out, bug, bytes).code,
        0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  // Whether one of the faults of such a launch has this text. A bug shows in several ways.
  bool FindsFor(Bug bug, const std::string& part) {
    Run(bug);
    bool found = false;
    for (const std::string& fault : fake_cuda::TakeFaults()) {
      found |= fault.find(part) != std::string::npos;
    }
    return found;
  }
  std::vector<float> values;
  float* in = nullptr;
  float* out = nullptr;
};

TEST_F(CopyThroughTest, BytesThatAreNotCopiedAreZero) {
  for (const int bytes : {16, 12, 4, 0}) {
    Run(Bug::kNone, bytes);
    EXPECT_FALSE(Found(""));
    const std::vector<float> got = Download(out, kFloats);
    for (unsigned i = 0; i < kFloats; ++i) {
      const bool copied = i % 4 * 4 < static_cast<unsigned>(bytes);
      EXPECT_EQ(got[i], copied ? values[(i + 4) % kFloats] : 0.0f);
    }
  }
}

TEST_F(CopyThroughTest, EachMistakeIsFound) {
  const std::string pending = ", to which an asynchronous copy of thread ";
  const std::string race = "without a barrier between";
  EXPECT_TRUE(FindsFor(Bug::kNoWait, "read of dynamic shared byte"));
  EXPECT_TRUE(FindsFor(Bug::kNoWait, pending));
  EXPECT_TRUE(FindsFor(Bug::kNoCommit, pending));
  EXPECT_TRUE(FindsFor(Bug::kCommitAfterWait, pending));
  EXPECT_TRUE(FindsFor(Bug::kNoBarrier, race));
  EXPECT_TRUE(FindsFor(Bug::kBarrierBeforeWait, race));
  EXPECT_TRUE(FindsFor(Bug::kBarrierBeforeWait, pending));
  EXPECT_TRUE(FindsFor(Bug::kStoreBeforeWait, "write of dynamic shared byte"));
  EXPECT_TRUE(FindsFor(Bug::kStoreBeforeWait, pending));
  EXPECT_TRUE(FindsFor(Bug::kCopiedTwice, "copy of dynamic shared byte"));
  EXPECT_TRUE(FindsFor(Bug::kSourceChanged, "changed before the wait for it"));
  EXPECT_TRUE(FindsFor(Bug::kNeverWaited, "returns without having waited"));
  EXPECT_TRUE(FindsFor(Bug::kTooManyBytes, "an asynchronous copy of 16 bytes from 20"));
  EXPECT_TRUE(FindsFor(Bug::kSourceMisaligned, "at an address 4 past a multiple"));
  EXPECT_TRUE(FindsFor(Bug::kTargetMisaligned, "which is no multiple of that"));
  EXPECT_TRUE(FindsFor(Bug::kTargetOutside, "of dynamic shared memory, which has 1024"));
  // What was abandoned leaves nothing behind.
  Run(Bug::kNone);
  EXPECT_FALSE(Found(""));
}

// Begins three groups, the second of which is empty, and reads what group `read` brought after a
// wait that leaves kPending pending.
template <int kPending>
__global__ void WaitForSome(const float* in, float* out, unsigned read) {
  CopyAsync(PlaceOf(0), in, 16);
  CommitCopies();
  CommitCopies();
  CopyAsync(PlaceOf(2), in + 8, 16);
  CommitCopies();
  WaitForCopies<kPending>();
  StoreVector(out, LoadShared<4, float>(PlaceOf(read)));
  WaitForCopies<0>();
}

TEST_F(AsyncCopies, AWaitLeavesTheLastGroupsPending) {
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.0f);
  const float* in = Upload(values);
  float* out = Allocate<float>(4);
  const auto launch = [&](auto kernel, unsigned read) {
    ASSERT_EQ(Launch(kernel, LaunchShape{1, 1, 48}, stream_, in, out, read).code, 0);
  };
  launch(WaitForSome<2>, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 4), (std::vector<float>{0, 1, 2, 3}));
  launch(WaitForSome<3>, 0);
  EXPECT_TRUE(Found("is pending"));
  launch(WaitForSome<0>, 2);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 4), (std::vector<float>{8, 9, 10, 11}));
  launch(WaitForSome<1>, 2);
  EXPECT_TRUE(Found("is pending"));
}

// The second copy overwrites what slow threads still read of the first, unless a barrier is there.
__global__ void CopyTwice(const float* in, float* out, bool with_barrier) {
  const size_t i = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < 2; ++round) {
    CopyAsync(PlaceOf(i), in + i * 4, 16);
    CommitCopies();
    WaitForCopies<0>();
    __syncthreads();
    sum += LoadShared<1, float>(PlaceOf(kThreads - 1 - i))[0];
    if (with_barrier) __syncthreads();
  }
  out[i] = sum;
}

TEST_F(AsyncCopies, ReuseOfTheirTargetNeedsABarrier) {
  const float* in = Upload(std::vector<float>(kFloats, 1.5f));
  float* out = Allocate<float>(kThreads);
  ASSERT_EQ(Launch(CopyTwice, LaunchShape{2, kThreads, kBytes}, stream_, in, out, true).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, kThreads), std::vector<float>(kThreads, 3.0f));
  ASSERT_EQ(Launch(CopyTwice, LaunchShape{1, kThreads, kBytes}, stream_, in, out, false).code, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  bool found = false;
  for (const std::string& fault : fake_cuda::TakeFaults()) {
    found |= fault.find("write of shared cell") != std::string::npos &&
             fault.find("read by thread") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace horizon
