#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/threads/workers.h"

struct CUstream_st;

namespace horizon {

// State that the kernels of one device keep between calls, such as a library handle and the
// algorithms that the library chose. The kernels create it (KernelTable::make_device_context) and
// only they know what it holds; everyone else just owns it and passes it on.
class DeviceContext {
 public:
  DeviceContext() = default;
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  virtual ~DeviceContext() = default;
};

// What a kernel needs besides its arguments: threads or a stream to run on, and scratch memory. The
// schedule lane that calls the kernel owns all of it. Kernels allocate nothing.
struct KernelContext {
  // Host kernels run on `workers` and use `scratch` in host memory: workers->count() x
  // kWorkerScratchBytes, aligned to 64 bytes.
  Workers* workers = nullptr;
  std::span<std::byte> scratch;
  // CUDA kernels launch on `stream`. Both workspaces are device memory, aligned to 256 bytes, that
  // no other stream uses: kGemmWorkspaceBytes for matrix multiplies, and for any other kernel as
  // much as its ...WorkspaceBytes function returns.
  CUstream_st* stream = nullptr;
  DeviceContext* device_context = nullptr;
  std::span<std::byte> gemm_workspace;
  std::span<std::byte> device_workspace;

  // The scratch memory of one worker: kWorkerScratchBytes.
  std::byte* ScratchOf(int worker) const;
};

// Scratch of each worker, for matrix tiles that are being converted to another type or summed. Its
// contents do not outlive the kernel call.
inline constexpr size_t kWorkerScratchBytes = size_t{2} << 20;

// Workspace of every matrix multiply on a CUDA device. It is a constant because the library may
// choose its algorithm by the workspace size, and with the algorithm the bits of the result.
inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;

inline std::byte* KernelContext::ScratchOf(int worker) const {
  return scratch.data() + static_cast<size_t>(worker) * kWorkerScratchBytes;
}

}  // namespace horizon
