#include "runtime/device/cuda_progress_marks.h"

#include <atomic>
#include <cstring>

namespace horizon {
namespace {

// The version of CUDA with the cuStreamWriteValue32 that we call.
constexpr unsigned kKnownVersion = 12000;

}  // namespace

cudaError_t ProgressMarks::Create(cudaStream_t stream) {
  constexpr size_t kBytes = kMostStreams * sizeof(uint32_t);
  if (const cudaError_t error = Make(memory_, kBytes); error != cudaSuccess) return error;
  std::memset(memory_.get(), 0, kBytes);
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  const cudaError_t asked = cudaGetDriverEntryPointByVersion(
      "cuStreamWriteValue32", &found, kKnownVersion, cudaEnableDefault, &answer);
  if (asked != cudaSuccess || found == nullptr) {
    cudaGetLastError();
    return cudaSuccess;
  }
  write_ = reinterpret_cast<WriteValue*>(found);
  // Some systems have the call and refuse it.
  if (Write(stream, 0, 0) != cudaSuccess) {
    cudaGetLastError();
    write_ = nullptr;
  }
  return cudaStreamSynchronize(stream);
}

cudaError_t ProgressMarks::Write(cudaStream_t stream, int index, uint32_t value) {
  if (!available()) return cudaSuccess;
  // With unified addressing, which every 64-bit system has, the address is the same on the device.
  // The driver's errors have the numbers of the runtime's.
  return static_cast<cudaError_t>(
      write_(stream, reinterpret_cast<uintptr_t>(mark(index)), value, 0));
}

uint32_t ProgressMarks::Read(int index) const {
  return std::atomic_ref<uint32_t>(*mark(index)).load(std::memory_order_acquire);
}

}  // namespace horizon
