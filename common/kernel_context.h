#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/threads/workers.h"

struct CUstream_st;

namespace horizon {

// What the kernels of one device keep between their calls, such as the handle of a library and the
// algorithms it chose. They make it (KernelTable::make_device_context) and they alone know what it
// holds; all others own it and pass it on.
class DeviceContext {
 public:
  DeviceContext() = default;
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  virtual ~DeviceContext() = default;
};

// What a kernel needs besides its arguments: who works, and scratch. Owned by the lane that calls;
// kernels allocate nothing.
struct KernelContext {
  Workers* workers = nullptr;     // host bodies
  std::span<std::byte> scratch;   // workers->count() x kWorkerScratchBytes, aligned to 64
  CUstream_st* stream = nullptr;  // CUDA bodies put their work here
  // CUDA bodies: what they keep between calls; memory of the device for matrix multiplies
  // (kGemmWorkspaceBytes, aligned to 256); and memory for what a kernel needs beside its arguments
  // (as much as its ...WorkspaceBytes says, aligned to 256). The memory belongs to this stream
  // alone.
  DeviceContext* device_context = nullptr;
  std::span<std::byte> gemm_workspace;
  std::span<std::byte> device_workspace;

  std::byte* ScratchOf(int worker) const;
};

// Of each worker: tiles of matrices on their way to another type or sum. Dead when a kernel
// returns.
inline constexpr size_t kWorkerScratchBytes = size_t{2} << 20;

// What every matrix product on a CUDA device may use. A constant, since the way a product is taken
// (and with it the bits) may follow from it.
inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;

inline std::byte* KernelContext::ScratchOf(int worker) const {
  return scratch.data() + static_cast<size_t>(worker) * kWorkerScratchBytes;
}

}  // namespace horizon
