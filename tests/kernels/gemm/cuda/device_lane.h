#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/kernel_context.h"
#include "kernels/gemm/cublas_gemm.h"
#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {

// A fake device with a stream, cublasLt and workspaces of exactly the bytes asked for; all memory
// begins as NaN (the fake's poison). Nothing may be left behind in it.
class DeviceLane {
 public:
  explicit DeviceLane(uint64_t seed = 1, uint64_t workspace_bytes = 0)
      : DeviceLane(fake_cuda::Options{.seed = seed}, workspace_bytes) {}
  explicit DeviceLane(const fake_cuda::Options& options, uint64_t workspace_bytes = 0) {
    fake_cuda::Reset(options);
    EXPECT_EQ(cudaStreamCreateWithFlags(&context_.stream, cudaStreamNonBlocking), cudaSuccess);
    cublas_ = *CublasGemm::Create();
    context_.device_context = cublas_.get();
    context_.gemm_workspace = {Allocate<std::byte>(kGemmWorkspaceBytes), kGemmWorkspaceBytes};
    if (workspace_bytes > 0) {
      context_.device_workspace = {Allocate<std::byte>(workspace_bytes), workspace_bytes};
    }
  }
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;
  ~DeviceLane() {
    EXPECT_EQ(cudaStreamSynchronize(context_.stream), cudaSuccess);
    cublas_.reset();
    for (void* pointer : allocated_) EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(context_.stream), cudaSuccess);
    EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>());
  }

  const KernelContext& context() const { return context_; }

  template <typename T>
  T* Allocate(size_t count) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, std::max<size_t>(1, count) * sizeof(T)), cudaSuccess);
    allocated_.push_back(pointer);
    return static_cast<T*>(pointer);
  }
  template <typename T>
  T* Upload(const std::vector<T>& values) {
    T* pointer = Allocate<T>(values.size());
    if (!values.empty()) {
      fake_cuda::WriteDevice(pointer, values.data(), values.size() * sizeof(T));
    }
    return pointer;
  }
  // When all work is done.
  template <typename T>
  std::vector<T> Download(const T* pointer, int64_t count) {
    std::vector<T> values(static_cast<size_t>(count));
    if (count > 0) fake_cuda::ReadDevice(values.data(), pointer, values.size() * sizeof(T));
    return values;
  }

 private:
  KernelContext context_;
  std::unique_ptr<CublasGemm> cublas_;
  std::vector<void*> allocated_;
};

}  // namespace horizon
