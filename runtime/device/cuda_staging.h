#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/threads/workers.h"
#include "runtime/device/cuda_handles.h"

namespace horizon {

// Copies between the device and host memory that could not be page-locked, through a small
// page-locked buffer. The buffer has two halves: the host fills or empties one half while the other
// half crosses the link.
//
// When a call returns, a copy to the host is complete, and the source of a copy to the device may
// change. Both wait for the stream's earlier work, because that work may be what fills the source.
// This is slower than a copy of page-locked memory, but always correct. Each stream has its own
// buffer, which is used by the thread that feeds the stream.
class StagingBuffer {
 public:
  // Create first asks for kMostBytes and halves the size until the system grants it, down to
  // kLeastBytes (one page for each half).
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  static constexpr uint64_t kLeastBytes = uint64_t{8} << 10;

  // Allocates the events and the buffer. Returns CUDA's error when even kLeastBytes cannot be
  // locked.
  cudaError_t Create();
  uint64_t size() const { return 2 * half_bytes_; }

  cudaError_t CopyToDevice(cudaStream_t stream, std::byte* device_target,
                           const std::byte* host_source, uint64_t bytes, Workers& workers);
  cudaError_t CopyToHost(cudaStream_t stream, std::byte* host_target,
                         const std::byte* device_source, uint64_t bytes, Workers& workers);

 private:
  std::byte* Half(uint64_t piece) const;
  cudaError_t Record(cudaStream_t stream, uint64_t piece);
  cudaError_t Await(uint64_t piece);

  uint64_t half_bytes_ = 0;
  UniqueLockedBytes memory_;
  std::array<UniqueEvent, 2> crossed_;  // recorded after the last copy of each half
  std::array<bool, 2> pending_{};       // crossed_ was recorded and has not been awaited
};

}  // namespace horizon
