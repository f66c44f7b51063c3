// Failures on demand, the errors that last, what is left behind, and the machines it can play.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_launch.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

using Failures = fake_cuda::DeviceTest;
using fake_cuda::Persistence;

__global__ void AddOne(int* values, int count) {
  if (static_cast<int>(threadIdx.x) < count) values[threadIdx.x] += 1;
}

// A small user of CUDA that gives everything back whatever happens. `forgets` plants a leak.
cudaError_t Use(std::array<int, 4>& host, bool forgets) {
  cudaStream_t stream = nullptr;
  int* device = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) error = cudaHostRegister(host.data(), sizeof(host), 0);
  const bool registered = error == cudaSuccess;
  if (error == cudaSuccess) error = cudaMalloc(&device, sizeof(host));
  if (error == cudaSuccess) {
    error = cudaMemcpyAsync(device, host.data(), sizeof(host), cudaMemcpyHostToDevice, stream);
  }
  if (error == cudaSuccess) {
    error = static_cast<cudaError_t>(Launch(AddOne, LaunchShape{1, 32}, stream, device, 4).code);
  }
  if (error == cudaSuccess) {
    error = cudaMemcpyAsync(host.data(), device, sizeof(host), cudaMemcpyDeviceToHost, stream);
  }
  const auto keep = [&](cudaError_t next) { error = error == cudaSuccess ? next : error; };
  if (stream != nullptr) keep(cudaStreamSynchronize(stream));
  // A wait that failed says nothing about the work; freeing waits too.
  if (device != nullptr) keep(cudaFree(device));
  if (registered) keep(cudaHostUnregister(host.data()));
  if (stream != nullptr && !forgets) keep(cudaStreamDestroy(stream));
  return error;
}

TEST_F(Failures, EachCallCanFailOnceOrForEver) {
  for (const Persistence persistence : {Persistence::kOnce, Persistence::kSticky}) {
    uint64_t call = 1;
    for (;; ++call) {
      fake_cuda::Reset();
      fake_cuda::FailCall(call, cudaErrorLaunchFailure, persistence);
      std::array<int, 4> host{1, 2, 3, 4};
      const cudaError_t error = Use(host, false);
      ASSERT_EQ(fake_cuda::TakeFaults(), std::vector<std::string>{}) << "call " << call;
      ASSERT_EQ(fake_cuda::Leaks(), std::vector<std::string>{}) << "call " << call;
      if (!fake_cuda::HasFailed()) {
        EXPECT_EQ(error, cudaSuccess);
        EXPECT_EQ(host, (std::array<int, 4>{2, 3, 4, 5}));
        break;
      }
      EXPECT_EQ(error, cudaErrorLaunchFailure) << "call " << call;
      const cudaError_t later = cudaMemsetAsync(nullptr, 0, 0, reinterpret_cast<cudaStream_t>(1));
      EXPECT_EQ(later, persistence == Persistence::kSticky ? cudaErrorLaunchFailure
                                                           : cudaErrorInvalidResourceHandle);
    }
    EXPECT_EQ(call, 12u);  // Use makes eleven, the launch and its cudaGetLastError among them
  }
}

TEST_F(Failures, EachPieceOfWorkCanFailLater) {
  for (uint64_t piece = 1; piece <= 4; ++piece) {
    fake_cuda::Reset();
    fake_cuda::FailWork(piece, cudaErrorIllegalAddress);
    std::array<int, 4> host{1, 2, 3, 4};
    EXPECT_EQ(Use(host, false), piece <= 3 ? cudaErrorIllegalAddress : cudaSuccess);
    EXPECT_EQ(fake_cuda::HasFailed(), piece <= 3);
    EXPECT_EQ(fake_cuda::WorkCount(), piece - 1);
    EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{});
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              piece <= 3 ? cudaErrorIllegalAddress : cudaSuccess);
  }
}

TEST_F(Failures, LeakIsListed) {
  fake_cuda::Reset();
  std::array<int, 4> host{};
  EXPECT_EQ(Use(host, true), cudaSuccess);
  EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{"stream 1"});
}

TEST_F(Failures, LastErrorIsKeptUntilAskedAndIsTheThreads) {
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// As on a GPU, a launch reports an error that an earlier call left behind.
TEST_F(Failures, LaunchThatCannotBeIsRefused) {
  int* device = Allocate<int>(32);
  EXPECT_EQ(Launch(AddOne, LaunchShape{0, 32}, stream_, device, 4).code,
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(AddOne, LaunchShape{1, 1025}, stream_, device, 4).code,
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(AddOne, LaunchShape{dim3(1, 65536), 1}, stream_, device, 4).code,
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(Launch(AddOne, LaunchShape{1, dim3(32, 32)}, stream_, device, 0).code, 0);
  EXPECT_EQ(cudaSetDevice(9), cudaErrorInvalidDevice);
  EXPECT_EQ(Launch(AddOne, LaunchShape{1, 32}, stream_, device, 0).code, cudaErrorInvalidDevice);
}

TEST_F(Failures, PlaysMachines) {
  fake_cuda::Reset({.devices = {{.name = "Old", .major = 7, .minor = 5, .has_kernel_image = false},
                                {.name = "New", .memory_bytes = 1 << 20, .major = 9}},
                    .driver_version = 12040});
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_EQ(std::string(properties.name), "New");
  EXPECT_EQ(properties.totalGlobalMem, size_t{1} << 20);
  int major = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  EXPECT_EQ(major, 7);
  int version = 0;
  ASSERT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 12040);
  cudaFuncAttributes attributes{};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, AddOne), cudaErrorNoKernelImageForDevice);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, AddOne), cudaSuccess);
  EXPECT_EQ(attributes.binaryVersion, 90);
}

TEST_F(Failures, PlaysNoDriverAndNoDevice) {
  fake_cuda::Reset({.driver_version = 0, .driver = cudaErrorInsufficientDriver});
  int count = 7;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  EXPECT_EQ(count, 0);
  int version = 7;
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 0);
  EXPECT_EQ(cudaFree(nullptr), cudaErrorInsufficientDriver);
  fake_cuda::Reset({.devices = {}});
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
}

TEST_F(Failures, PageLockedMemoryHasLimits) {
  std::vector<char> memory(10'000);
  fake_cuda::Reset({.most_locked_bytes = 5000, .most_locked_bytes_a_call = 3000});
  EXPECT_EQ(cudaHostRegister(memory.data(), 3001, 0), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaHostRegister(memory.data(), 3000, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(memory.data() + 2999, 10, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(memory.data() + 3000, 2001, 0), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaHostRegister(memory.data() + 3000, 2000, 0), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(memory.data() + 1), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostUnregister(memory.data()), cudaSuccess);
  EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{"2000 bytes of page-locked memory"});
}

}  // namespace
}  // namespace horizon
