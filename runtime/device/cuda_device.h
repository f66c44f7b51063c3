#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/units.h"
#include "runtime/device/device.h"

namespace horizon {

// How MakeCudaDevice opens a GPU.
struct CudaDeviceOptions {
  int index = 0;           // the N of cuda:N
  Bytes capacity;          // all device memory is reserved at once; nothing is allocated later
  Clock* clock = nullptr;  // outlives the device
  // Receives a warning when host memory could not be page-locked or when GEMMs will be slow. It
  // outlives the device; may be null.
  Log* log = nullptr;
  // Host memory is page-locked in pieces of at most this many bytes (a multiple of the page size).
  // Tests set it.
  Bytes most_locked_piece_bytes = 64_GiB;
};

// Opens an NVIDIA GPU as a Device. Its streams are non-blocking CUDA streams, so they do not
// synchronise with the default stream. A copy is asynchronous. Launch calls the KernelCall inside
// the call, on the calling thread; that function then enqueues its kernels on the stream. Any
// thread may call: each call begins with cudaSetDevice.
//
// Some systems do not let us page-lock host memory (a limit on locked memory, WSL). Such memory
// still works: its copies go through a page-locked staging buffer of at most 16 MiB per stream.
// These copies wait for the stream inside the call and are slower. A warning in the log says so.
//
// An error that CUDA reports late (an illegal address, ECC) ends everything on the device. Events
// that are known to have passed stay good. All other work fails with one error, which names the
// operation that was running, or all candidates when there were several. TimeOf then fails as well.
//
// Unavailable: the build has no CUDA, there is no driver or one that is too old, or the program has
// no code for this device. ResourceExhausted: the memory is not free; the message has the bytes
// asked for and the bytes free.
absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& options);

}  // namespace horizon
