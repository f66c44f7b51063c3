#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/threads/workers.h"
#include "runtime/device/cuda_handles.h"

namespace horizon {

// How a stream copies host memory that could not be page-locked: through a small slab that is,
// half by half, so that the host fills or empties one half while the other crosses the link. A copy
// is over (to the host), or its source may change (to the device), when the call returns; both wait
// for the stream's earlier work, which may be what fills the source. Slower than the real thing,
// but never wrong. Used by the thread that feeds the stream.
class StagingBuffer {
 public:
  // Slabs are at most this large; where less may be locked, as small as a page a half.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  static constexpr uint64_t kLeastBytes = uint64_t{8} << 10;

  // What could not be had, if anything.
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
  std::array<UniqueEvent, 2> crossed_;  // behind the last copy of each half
  std::array<bool, 2> pending_{};       // crossed_ was recorded and not awaited
};

}  // namespace horizon
