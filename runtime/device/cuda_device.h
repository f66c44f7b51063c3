#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "runtime/device/device.h"

namespace horizon {

struct CudaDeviceOptions {
  int index = 0;           // the N of cuda:N
  Bytes capacity;          // reserved at once, and nothing is allocated later
  Clock* clock = nullptr;  // outlives the device, as does
  // Where it is told that host memory could not be page-locked, or that products will be slow; may
  // be null.
  Log* log = nullptr;
  // For tests: host memory is page-locked in pieces of at most this, whole pages.
  Bytes most_locked_piece_bytes = 64_GiB;
};

// An NVIDIA GPU. Streams are CUDA streams, which know nothing of the default one; a copy is
// asynchronous; a kernel is called inside Launch, on the calling thread, and puts its work on the
// stream. Every thread may call: each call first makes the device the thread's.
//
// Host memory that the system does not let us page-lock (a limit on locked memory, WSL) is served
// all the same: its copies go through slabs of at most 16 MiB a stream that are, wait for the
// stream inside the call, and are slower. The log says so.
//
// An error that CUDA reports late (an illegal address, ECC) means the end of everything on the
// device. Marks known to have passed stay good; all other work is spoiled with one error, which
// names the operation that was running, or those that were when there were several. TimeOf then
// fails as well.
//
// Unavailable: no CUDA in the build, no driver, one too old, no code for this device.
// ResourceExhausted: the memory is not free; the message has the bytes asked for and free.
absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& options);

}  // namespace horizon
