#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "tests/kernels/cuda/cuda_world.h"
#include "tests/kernels/support/device_arrays.h"

namespace horizon {

// A stream in a world that began for it.
class CudaStream {
 public:
  explicit CudaStream(uint64_t seed = 1) {
    BeginCudaWorld(seed);
    stream_ = CreateStream();
    EXPECT_NE(stream_, nullptr);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { DestroyStream(stream_); }

  CUstream_st* get() const { return stream_; }
  KernelContext context() const { return {.stream = stream_}; }

 private:
  CUstream_st* stream_ = nullptr;
};

// Device memory with values, `offset` elements behind a border of 256 bytes. A guard lies before
// them; behind them lies the end of the allocation, which the fake watches.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(const CudaStream& stream, const std::vector<T>& values, int64_t offset)
      : stream_(stream), begin_(kGuardBytes / sizeof(T) + static_cast<size_t>(offset)) {
    std::vector<T> all(begin_ + values.size());
    auto* guard = reinterpret_cast<unsigned char*>(all.data());
    std::fill_n(guard, begin_ * sizeof(T), kGuard);
    std::copy(values.begin(), values.end(), all.begin() + static_cast<int64_t>(begin_));
    size_ = values.size();
    memory_ = static_cast<T*>(UploadArray(all.data(), all.size() * sizeof(T)));
    EXPECT_NE(memory_, nullptr);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { FreeArray(memory_); }

  T* data() const { return memory_ + begin_; }

  // Waits for the stream.
  std::vector<T> Read() const {
    std::vector<T> all(begin_ + size_);
    EXPECT_TRUE(DownloadArray(all.data(), memory_, all.size() * sizeof(T), stream_.get()));
    const auto* guard = reinterpret_cast<const unsigned char*>(all.data());
    for (size_t i = 0; i < begin_ * sizeof(T); ++i) {
      if (guard[i] == kGuard) continue;
      ADD_FAILURE() << "written " << begin_ * sizeof(T) - i << " bytes before the array";
      break;
    }
    all.erase(all.begin(), all.begin() + static_cast<int64_t>(begin_));
    return all;
  }

 private:
  static constexpr size_t kGuardBytes = 256;
  static constexpr unsigned char kGuard = 0xC5;
  const CudaStream& stream_;
  size_t begin_;
  size_t size_ = 0;
  T* memory_ = nullptr;
};

// Device memory for KernelContext::device_workspace, full of NaN.
class DeviceWorkspace {
 public:
  DeviceWorkspace(const CudaStream& stream, int64_t bytes)
      : array_(stream, std::vector<unsigned char>(static_cast<size_t>(bytes), 0xFF), 0),
        context_(stream.context()) {
    context_.device_workspace = {reinterpret_cast<std::byte*>(array_.data()),
                                 static_cast<size_t>(bytes)};
  }
  const KernelContext& context() const { return context_; }

 private:
  DeviceArray<unsigned char> array_;
  KernelContext context_;
};

}  // namespace horizon
