#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/workers.h"

struct CUstream_st;

namespace horizon {

// What a kernel needs besides its arguments: who works, and scratch. Owned by the lane that calls;
// kernels allocate nothing.
struct KernelContext {
  Workers* workers = nullptr;     // host bodies
  std::span<std::byte> scratch;   // workers->count() x kWorkerScratchBytes, aligned to 64
  CUstream_st* stream = nullptr;  // CUDA bodies put their work here

  std::byte* ScratchOf(int worker) const;
};

// Of each worker: tiles of matrices on their way to another type or sum. Dead when a kernel
// returns.
inline constexpr size_t kWorkerScratchBytes = size_t{2} << 20;

inline std::byte* KernelContext::ScratchOf(int worker) const {
  return scratch.data() + static_cast<size_t>(worker) * kWorkerScratchBytes;
}

}  // namespace horizon
