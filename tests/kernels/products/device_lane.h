#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/kernel_context.h"
#include "kernels/cublas_products.h"
#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {

// The largest relative errors of one rounding: bf16 has 8 bits of a number, fp32 has 24.
inline constexpr double kBf16Unit = 0x1p-8;
inline constexpr double kFp32Unit = 0x1p-24;

inline float Widened(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }
inline uint16_t Narrowed(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
inline std::vector<float> Widened(const std::vector<uint16_t>& halves) {
  std::vector<float> values(halves.size());
  for (size_t i = 0; i < halves.size(); ++i) values[i] = Widened(halves[i]);
  return values;
}
// Uniform in -1 .. 1.
inline std::vector<uint16_t> RandomHalves(std::mt19937& random, int64_t count) {
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  for (uint16_t& half : halves) half = Narrowed(uniform(random));
  return halves;
}

// A fake device with a stream, cublasLt and workspaces of exactly the bytes asked for; all memory
// begins as NaN (the fake's poison). Nothing may be left behind in it.
class DeviceLane {
 public:
  explicit DeviceLane(uint64_t seed = 1, uint64_t workspace_bytes = 0) {
    fake_cuda::Reset({.seed = seed});
    EXPECT_EQ(cudaStreamCreateWithFlags(&context_.stream, cudaStreamNonBlocking), cudaSuccess);
    products_ = *CublasProducts::Create();
    context_.products = products_.get();
    context_.gemm_workspace = {Allocate<std::byte>(kGemmWorkspaceBytes), kGemmWorkspaceBytes};
    if (workspace_bytes > 0) {
      context_.device_workspace = {Allocate<std::byte>(workspace_bytes), workspace_bytes};
    }
  }
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;
  ~DeviceLane() {
    EXPECT_EQ(cudaStreamSynchronize(context_.stream), cudaSuccess);
    products_.reset();
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
  std::unique_ptr<CublasProducts> products_;
  std::vector<void*> allocated_;
};

// Each element within its bound; names the worst.
template <typename Bound>
void ExpectNear(std::string_view what, const std::vector<float>& actual,
                const std::vector<float>& expected, const Bound& bound) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double off = std::fabs(double{actual[i]} - double{expected[i]});
    const double share = off == 0 ? 0 : off / bound(i);
    if (share <= worst) continue;  // not when it is NaN
    worst = share;
    at = i;
    if (std::isnan(share)) break;
  }
  EXPECT_LE(worst, 1.0) << what << ": of " << actual.size() << " the worst is " << at << ": "
                        << actual[at] << " instead of " << expected[at] << ", bound " << bound(at);
}

}  // namespace horizon
