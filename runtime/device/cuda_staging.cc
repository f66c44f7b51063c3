#include "runtime/device/cuda_staging.h"

#include <algorithm>

#include "runtime/device/copy_bytes.h"

// Returns the error of a CUDA call from the function.
#define RETURN_IF_CUDA_ERROR(call)                                            \
  do {                                                                        \
    if (const cudaError_t error = (call); error != cudaSuccess) return error; \
  } while (false)

namespace horizon {
cudaError_t StagingBuffer::Create() {
  for (UniqueEvent& event : crossed_) {
    RETURN_IF_CUDA_ERROR(Make(event, cudaEventBlockingSync | cudaEventDisableTiming));
  }
  cudaError_t error = cudaSuccess;
  for (uint64_t bytes = kMostBytes; bytes >= kLeastBytes; bytes /= 2) {
    error = Make(memory_, bytes);
    if (error == cudaSuccess) {
      half_bytes_ = bytes / 2;
      return cudaSuccess;
    }
    cudaGetLastError();
  }
  return error;
}

std::byte* StagingBuffer::Half(uint64_t piece) const {
  return static_cast<std::byte*>(memory_.get()) + piece % 2 * half_bytes_;
}

cudaError_t StagingBuffer::Record(cudaStream_t stream, uint64_t piece) {
  RETURN_IF_CUDA_ERROR(cudaEventRecord(crossed_[piece % 2].get(), stream));
  pending_[piece % 2] = true;
  return cudaSuccess;
}

cudaError_t StagingBuffer::Await(uint64_t piece) {
  if (!pending_[piece % 2]) return cudaSuccess;
  RETURN_IF_CUDA_ERROR(cudaEventSynchronize(crossed_[piece % 2].get()));
  pending_[piece % 2] = false;
  return cudaSuccess;
}

cudaError_t StagingBuffer::CopyToDevice(cudaStream_t stream, std::byte* device_target,
                                        const std::byte* host_source, uint64_t bytes,
                                        Workers& workers) {
  if (bytes == 0) return cudaSuccess;
  // Work before this copy may be what writes the source.
  RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  for (uint64_t done = 0, piece = 0; done < bytes; done += half_bytes_, ++piece) {
    const uint64_t size = std::min(half_bytes_, bytes - done);
    RETURN_IF_CUDA_ERROR(Await(piece));
    CopyBytes(Half(piece), host_source + done, size, workers);
    RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(device_target + done, Half(piece), size, cudaMemcpyHostToDevice, stream));
    RETURN_IF_CUDA_ERROR(Record(stream, piece));
  }
  return cudaSuccess;
}

cudaError_t StagingBuffer::CopyToHost(cudaStream_t stream, std::byte* host_target,
                                      const std::byte* device_source, uint64_t bytes,
                                      Workers& workers) {
  const uint64_t pieces = (bytes + half_bytes_ - 1) / half_bytes_;
  for (uint64_t piece = 0; piece <= pieces; ++piece) {
    if (piece < pieces) {
      const uint64_t done = piece * half_bytes_;
      const uint64_t size = std::min(half_bytes_, bytes - done);
      RETURN_IF_CUDA_ERROR(
          cudaMemcpyAsync(Half(piece), device_source + done, size, cudaMemcpyDeviceToHost, stream));
      RETURN_IF_CUDA_ERROR(Record(stream, piece));
    }
    if (piece > 0) {
      const uint64_t done = (piece - 1) * half_bytes_;
      RETURN_IF_CUDA_ERROR(Await(piece - 1));
      CopyBytes(host_target + done, Half(piece - 1), std::min(half_bytes_, bytes - done), workers);
    }
  }
  return cudaSuccess;
}

}  // namespace horizon
