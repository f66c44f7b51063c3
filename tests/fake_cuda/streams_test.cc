// Streams run as late and as reordered as events allow; copies find who touches their host side.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

#include "kernels/cuda/cuda_launch.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

__global__ void Append(int* log, int* length, int value) { log[length[0]++] = value; }

// Three streams, eight page-locked numbers.
class Streams : public fake_cuda::DeviceTest {
 protected:
  Streams() { Begin(1); }
  ~Streams() override {
    if (cudaHostUnregister(host_.data()) != cudaSuccess) ADD_FAILURE();
  }

  void Begin(uint64_t seed) {
    fake_cuda::Reset({.seed = seed});
    EXPECT_EQ(cudaHostRegister(host_.data(), sizeof(host_), 0), cudaSuccess);
    for (cudaStream_t& stream : streams_) {
      EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    }
    for (cudaEvent_t& event : events_) {
      EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
    }
    log_ = Upload(std::vector<int>(16, 0));
    length_ = Upload(std::vector<int>{0});
  }
  void Log(int stream, int value) {
    EXPECT_EQ(Launch(Append, LaunchShape{1, 1}, streams_[static_cast<size_t>(stream)], log_,
                     length_, value)
                  .code,
              0);
  }
  std::vector<int> Logged() {
    const int length = Download(length_, 1)[0];
    return Download(log_, static_cast<size_t>(length));
  }
  cudaError_t Up(int* device, size_t stream = 0) {
    return cudaMemcpyAsync(device, host_.data(), sizeof(host_), cudaMemcpyHostToDevice,
                           streams_[stream]);
  }
  cudaError_t Down(const int* device, size_t stream = 0) {
    return cudaMemcpyAsync(host_.data(), device, sizeof(host_), cudaMemcpyDeviceToHost,
                           streams_[stream]);
  }

  std::array<cudaStream_t, 3> streams_{};
  std::array<cudaEvent_t, 2> events_{};
  std::array<int, 8> host_{1, 2, 3, 4, 5, 6, 7, 8};
  int* log_ = nullptr;
  int* length_ = nullptr;
};

TEST_F(Streams, WorkIsDoneOnlyWhenSomebodyWaits) {
  Log(0, 1);
  EXPECT_EQ(fake_cuda::WorkCount(), 0u);
  ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  EXPECT_EQ(fake_cuda::WorkCount(), 1u);
}

// Two streams without events: every merge of their queues is legal, many are seen.
TEST_F(Streams, AreReorderedAgainstEachOtherButNotInThemselves) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Begin(seed);
    for (const int value : {1, 2, 3}) Log(0, value);
    for (const int value : {11, 12, 13}) Log(1, value);
    ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(streams_[1]), cudaSuccess);
    const std::vector<int> order = Logged();
    ASSERT_EQ(order.size(), 6u);
    std::vector<int> first;
    std::vector<int> second;
    for (const int value : order) (value < 10 ? first : second).push_back(value);
    EXPECT_EQ(first, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(second, (std::vector<int>{11, 12, 13}));
    orders.insert(order);
  }
  EXPECT_GE(orders.size(), 6u);
}

// The wait of stream 1 makes 2 follow 1 under every seed; without it some seed turns them round.
TEST_F(Streams, WaitForAnEventIsNeededAndEnough) {
  int turned = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    for (const bool waits : {true, false}) {
      Begin(seed);
      Log(0, 1);
      ASSERT_EQ(cudaEventRecord(events_[0], streams_[0]), cudaSuccess);
      if (waits) {
        ASSERT_EQ(cudaStreamWaitEvent(streams_[1], events_[0]), cudaSuccess);
      }
      Log(1, 2);
      ASSERT_EQ(cudaEventRecord(events_[1], streams_[1]), cudaSuccess);
      ASSERT_EQ(cudaEventSynchronize(events_[1]), cudaSuccess);
      const std::vector<int> order = Logged();
      if (waits) {
        EXPECT_EQ(order, (std::vector<int>{1, 2})) << "seed " << seed;
      } else {
        turned += order == std::vector<int>{2, 1} ? 1 : 0;
      }
    }
  }
  EXPECT_GE(turned, 20);
}

// A wait means the recording that was the last when it was called.
TEST_F(Streams, RecordingAgainDoesNotMoveEarlierWaits) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Begin(seed);
    Log(0, 1);
    ASSERT_EQ(cudaEventRecord(events_[0], streams_[0]), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(streams_[1], events_[0]), cudaSuccess);
    Log(1, 2);
    ASSERT_EQ(cudaEventRecord(events_[1], streams_[1]), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(streams_[0], events_[1]), cudaSuccess);
    Log(0, 3);
    ASSERT_EQ(cudaEventRecord(events_[0], streams_[0]), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(events_[0]), cudaSuccess);
    EXPECT_EQ(Logged(), (std::vector<int>{1, 2, 3}));
  }
}

TEST_F(Streams, EventsBehaveAsDocumented) {
  float milliseconds = 0;
  EXPECT_EQ(cudaEventQuery(events_[0]), cudaSuccess);  // never recorded
  EXPECT_EQ(cudaEventSynchronize(events_[0]), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(streams_[0], events_[0]), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventRecord(events_[0], streams_[0]), cudaSuccess);
  Log(0, 1);
  ASSERT_EQ(cudaEventRecord(events_[1], streams_[0]), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), cudaErrorNotReady);
  int polls = 0;
  while (cudaEventQuery(events_[1]) == cudaErrorNotReady) ++polls;
  EXPECT_GT(polls, 0);
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), cudaSuccess);
  EXPECT_GT(milliseconds, 0.0f);
  cudaEvent_t without_time = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&without_time, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(without_time, streams_[0]), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(without_time), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, events_[0], without_time),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(reinterpret_cast<cudaEvent_t>(&polls), streams_[0]),
            cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, CopiesGoThereAndBack) {
  int* device = Allocate<int>(8);
  ASSERT_EQ(Up(device), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  host_.fill(0);
  ASSERT_EQ(Down(device), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(device, 0, 4, streams_[0]), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  EXPECT_EQ(host_, (std::array<int, 8>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(Download(device, 2), (std::vector<int>{0, 2}));
}

TEST_F(Streams, SourceChangedTooEarlyIsFound) {
  int* device = Allocate<int>(8);
  ASSERT_EQ(Up(device), cudaSuccess);
  host_[7] = 9;
  EXPECT_TRUE(Found("the host changed its source before the copy was done"));
}

TEST_F(Streams, TargetWrittenTooEarlyIsFoundAndReadTooEarlyIsNoNumber) {
  const int* device = Upload(std::vector<int>(8, 3));
  ASSERT_EQ(Down(device), cudaSuccess);
  EXPECT_EQ(host_[0], -1);
  ASSERT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  EXPECT_EQ(host_[0], 3);
  ASSERT_EQ(Down(device), cudaSuccess);
  host_[0] = 5;
  EXPECT_TRUE(Found("the host changed its target before the copy was done"));
}

// Down and up again through the same host memory, in order on one stream: nobody's fault.
TEST_F(Streams, DeviceMayChangeWhatALaterCopyReads) {
  const int* from = Upload(std::vector<int>(8, 3));
  int* to = Allocate<int>(8);
  ASSERT_EQ(Down(from), cudaSuccess);
  ASSERT_EQ(Up(to), cudaSuccess);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(to, 8), std::vector<int>(8, 3));
}

TEST_F(Streams, PageableMemoryIsNotCopiedAsynchronously) {
  int* device = Allocate<int>(8);
  std::array<int, 8> pageable{};
  EXPECT_EQ(cudaMemcpyAsync(device, pageable.data(), sizeof(pageable), cudaMemcpyHostToDevice,
                            streams_[0]),
            cudaErrorInvalidValue);
  EXPECT_TRUE(Found("not within one page-locked range"));
  EXPECT_EQ(cudaMemcpy(device, pageable.data(), sizeof(pageable), cudaMemcpyHostToDevice),
            cudaSuccess);
}

TEST_F(Streams, CopyStaysWithinOneAllocation) {
  int* device = Allocate<int>(7);
  EXPECT_EQ(Up(device), cudaErrorInvalidValue);
  EXPECT_TRUE(Found("does not lie within one allocation"));
  EXPECT_EQ(Up(host_.data()), cudaErrorInvalidValue);
  EXPECT_TRUE(Found("not of device memory"));
}

TEST_F(Streams, RegistrationIsKeptWhileACopyIsPending) {
  int* device = Allocate<int>(8);
  ASSERT_EQ(Up(device), cudaSuccess);
  ASSERT_EQ(cudaHostUnregister(host_.data()), cudaSuccess);
  EXPECT_EQ(fake_cuda::TakeFaults().size(), 1u);
  EXPECT_TRUE(Found("no longer page-locked"));
  EXPECT_EQ(cudaHostRegister(host_.data(), sizeof(host_), 0), cudaSuccess);
}

TEST_F(Streams, HandlesThatAreGoneAreFound) {
  ASSERT_EQ(cudaStreamDestroy(streams_[2]), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(streams_[2]), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(Found("stream 3, which was destroyed"));
  ASSERT_EQ(cudaEventDestroy(events_[1]), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(events_[1], streams_[0]), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(Found("event 2, which was destroyed"));
  EXPECT_EQ(cudaMemsetAsync(log_, 0, 4, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(Found("a call on the default stream"));
}

// What is on a destroyed stream still runs.
TEST_F(Streams, DestroyedStreamEndsItsWork) {
  Log(2, 1);
  ASSERT_EQ(cudaStreamDestroy(streams_[2]), cudaSuccess);
  EXPECT_EQ(Logged(), std::vector<int>{1});
}

TEST_F(Streams, ThreadsMayCallAtOnce) {
  std::vector<std::thread> threads;
  std::array<int*, 3> arrays{Allocate<int>(1), Allocate<int>(1), Allocate<int>(1)};
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        if (cudaMemsetAsync(arrays[i], static_cast<int>(i), 4, streams_[i]) != cudaSuccess ||
            cudaStreamSynchronize(streams_[i]) != cudaSuccess) {
          ADD_FAILURE();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake_cuda::WorkCount(), 150u);
  EXPECT_EQ(Download(arrays[2], 1)[0], 0x02020202);
}

}  // namespace
}  // namespace horizon
