#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fake_cuda/fake_cuda_control.h"

namespace fake_cuda {

// A test on a freshly reset fake with one stream. Faults are collected, and the test fails at its
// end if any fault was not taken.
class DeviceTest : public testing::Test {
 protected:
  DeviceTest() {
    Reset();
    CollectFaults(true);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~DeviceTest() override {
    EXPECT_EQ(TakeFaults(), std::vector<std::string>{});
    CollectFaults(false);
    Reset();
  }

  template <typename T>
  T* Allocate(size_t count) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, count * sizeof(T)), cudaSuccess);
    return static_cast<T*>(pointer);
  }
  template <typename T>
  T* Upload(const std::vector<T>& values) {
    T* pointer = Allocate<T>(values.size());
    WriteDevice(pointer, values.data(), values.size() * sizeof(T));
    return pointer;
  }
  template <typename T>
  std::vector<T> Download(const T* pointer, size_t count) {
    std::vector<T> values(count);
    ReadDevice(values.data(), pointer, count * sizeof(T));
    return values;
  }
  // Finishes all work and returns whether a fault with `part` in its text was found. Fails the test
  // for every other fault. Clears the collected faults.
  static bool Found(const std::string& part) {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    bool found = false;
    for (const std::string& fault : TakeFaults()) {
      if (fault.find(part) != std::string::npos) {
        found = true;
      } else {
        ADD_FAILURE() << "another fault: " << fault;
      }
    }
    return found;
  }

  cudaStream_t stream_ = nullptr;
};

}  // namespace fake_cuda
