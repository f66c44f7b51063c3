#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/kernel_context.h"
#include "common/units.h"

namespace horizon {

class Device;

// Every device allocation begins at a multiple of this many bytes.
inline constexpr uint64_t kDeviceAlignment = 256;

// Owns an allocation of device memory and frees it when it is destroyed. The device outlives it.
// Before that, work that uses the memory must have passed (Await) or been ended (Cancel).
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  // A device address: it is for kernels and copies and must never be dereferenced by the host. Null
  // when empty.
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  friend class Device;
  DeviceMemory(Device* device, std::byte* data, uint64_t size)
      : device_(device), data_(data), size_(size) {}

  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

// Handles of a stream and of an event of one device. They own nothing and can be copied freely; the
// stream or event lives as long as the device.
struct StreamRef {
  int index = -1;
  friend bool operator==(StreamRef, StreamRef) = default;
};
struct EventRef {
  int index = -1;
  friend bool operator==(EventRef, EventRef) = default;
};

// How Device::CreateStream makes a stream.
struct StreamOptions {
  std::string name;  // for messages and for the names of threads
  int threads = 1;   // workers of host kernels (1..1024), including the thread that runs them
  // Becomes KernelContext::scratch of the stream's kernels: aligned to 64 bytes, at least threads x
  // kWorkerScratchBytes, alive as long as the device. Empty where no kernel needs any. On CUDA it
  // is device memory: the first kGemmWorkspaceBytes are the GEMM workspace, the rest is
  // KernelContext::device_workspace.
  std::span<std::byte> scratch;
  // Becomes KernelContext::device_context of the stream's kernels and lives as long as the device.
  // Null on the host device, and where no kernel multiplies matrices.
  DeviceContext* device_context = nullptr;
};

// A direction of the link between host and device.
enum class LinkDirection { kToDevice, kToHost };

// A range of device memory that a kernel reads, writes, or both.
struct KernelMemory {
  std::span<std::byte> memory;
  bool reads = false;
  bool writes = false;
};

// How Device::Launch runs a kernel call.
struct LaunchOptions {
  std::string name;  // for messages
  // All device memory the kernel uses, for devices that check it (Device::ChecksKernelMemory).
  std::vector<KernelMemory> memory;
  // A kernel that itself moves bytes over the link (by reading or writing host memory) says how
  // many and in which direction, so that a bandwidth limit on the link applies to it as it does to
  // copies.
  Bytes link_bytes;
  LinkDirection direction = LinkDirection::kToDevice;
};

// The work of a Launch: a function that runs kernels with the stream's context.
//
// The device calls it at most once, during Launch or later, on any thread; if the stream has
// failed, it is discarded without being called. So it must own what it captures, and the memory it
// uses must stay valid until an event that was recorded after it has passed. It must not call the
// device. On CUDA it enqueues kernels on context.stream and returns before they run.
using KernelCall = std::function<absl::Status(const KernelContext& context)>;

// An accelerator, or a stand-in for one: memory, streams and events. This is all the executor knows
// about a device, and all devices pass one conformance suite (selftest/conformance/conformance.h).
// A typical use:
//
//   device->RegisterHost(host);                                // once
//   device->CopyToDevice(h2d, memory.data(), host.data(), bytes);
//   device->Record(h2d, copied);
//   device->Wait(compute, copied);                             // like cudaStreamWaitEvent
//   device->Launch(compute, {.name = "norm"}, kernel_call);
//   device->Record(compute, computed);
//   device->Await(computed);                                   // like cudaEventSynchronize
//
// Streams. A stream is a queue: its work begins in the order in which it was enqueued, and each
// piece begins when the one before has ended. Events are the only order between streams. Work calls
// (CopyToDevice, CopyToHost, Launch, Record, Wait) may return before the work has begun; only Await
// says that it has ended. Until then the buffers of a copy belong to the device. A device may also
// do the work inside the call, as the host device does; callers may rely on neither.
//
// Events. Record marks the point after the stream's work so far; the event has passed when the
// stream reaches that point. Wait and Await refer to the recording that is the last one when they
// are called; recording again changes the meaning for later calls only. So an event may be recorded
// again only when everyone who waits for the earlier recording has made the call. An event that was
// never recorded has nothing to wait for: Wait, Await and TimeOf then return FailedPrecondition on
// every device. A thread that feeds one stream and waits for an event on another thread's stream
// must therefore first learn from that thread that Record has been called. Since every wait refers
// to a point that is already in some queue, streams cannot wait for each other in a circle.
//
// Errors are of two kinds. A wrong call (a bad range, an unknown stream) returns its error at once,
// enqueues nothing and leaves the stream as it was. Work that fails puts its stream into a failed
// state: the work after it is skipped, and Await of an event recorded after it returns that first
// error unchanged. A stream that waits for such an event fails with the same error, so nothing is
// computed from data that was never produced. Events recorded before the failure stay good. Record
// still works on a failed stream, and the event passes, so that nobody hangs; the other work calls
// may already return the stream's error, and on the host device they do from the failing call
// itself on. A failed stream stays failed. When a device is lost, all its streams fail with one
// error; events that it is known to have passed stay good.
//
// Threads. One thread at a time feeds a stream; different threads may feed different streams at
// once. Everything else may be called from any thread at any time.
//
// The destructor ends all work as Cancel does. All DeviceMemory must have been destroyed by then.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // Allocates uninitialised memory, aligned to kDeviceAlignment. Zero bytes give an empty owner. A
  // request for more than capacity() - used() fails with ResourceExhausted and all three figures. A
  // smaller request fails only when earlier frees have left no contiguous piece that is large
  // enough, and the message says so.
  virtual absl::StatusOr<DeviceMemory> Allocate(Bytes bytes) = 0;
  virtual Bytes capacity() const = 0;
  // Allocated bytes: each allocation is rounded up to kDeviceAlignment, but never past capacity().
  virtual Bytes used() const = 0;
  // The largest used() so far.
  virtual Bytes high_water() const = 0;

  // Page-locks host memory. The host side of every copy must be within one registered range.
  // InvalidArgument for an empty range or one that overlaps another; ResourceExhausted when the
  // system allows no more. UnregisterHost takes exactly a range that was registered and that no
  // pending work uses.
  virtual absl::Status RegisterHost(std::span<std::byte> memory) = 0;
  // Registers host memory without locking its pages: copies are slower and may wait for the
  // stream's work so far.
  virtual absl::Status RegisterPageable(std::span<std::byte> memory) {
    return RegisterHost(memory);
  }
  virtual absl::Status UnregisterHost(std::span<std::byte> memory) = 0;

  virtual absl::StatusOr<StreamRef> CreateStream(const StreamOptions& options) = 0;
  virtual absl::StatusOr<EventRef> CreateEvent() = 0;

  // Copies bytes, as cudaMemcpyAsync does. The device side must be within one DeviceMemory, the
  // host side within one registered range (InvalidArgument). Zero bytes are always accepted,
  // whatever the pointers.
  virtual absl::Status CopyToDevice(StreamRef stream, std::byte* device_target,
                                    const std::byte* host_source, Bytes bytes) = 0;
  virtual absl::Status CopyToHost(StreamRef stream, std::byte* host_target,
                                  const std::byte* device_source, Bytes bytes) = 0;
  virtual absl::Status Launch(StreamRef stream, const LaunchOptions& options,
                              KernelCall kernel) = 0;
  // Whether Launch checks the ranges in LaunchOptions::memory.
  virtual bool ChecksKernelMemory() const { return false; }

  virtual absl::Status Record(StreamRef stream, EventRef event) = 0;
  // Makes later work of the stream begin only when the event has passed, as cudaStreamWaitEvent
  // does.
  virtual absl::Status Wait(StreamRef stream, EventRef event) = 0;
  // Blocks the calling thread until the event has passed, as cudaEventSynchronize does. Returns the
  // first error of the work before the event, including errors that reached the stream through
  // Wait. After it returns, host memory that this work read or wrote belongs to the caller again.
  virtual absl::Status Await(EventRef event) = 0;
  // When the event, as last recorded, passed: on the clock given at creation, as exactly as the
  // device can measure. FailedPrecondition before it has passed; the error that Await returns, if
  // any; the device's own error when the device is lost and can no longer be queried.
  virtual absl::StatusOr<Nanoseconds> TimeOf(EventRef event) = 0;

  // Ends all work, for use after an error. Cancel itself cannot fail. Work that has not begun is
  // dropped if the device can do that; otherwise it is completed, since CUDA cannot remove work
  // from a stream. When the call returns, no work is left or running, so all memory may be freed.
  // Every stream that has no error yet, and every stream made later, fails with `reason` (not OK).
  // From then on all work calls except Record return the stream's error, and threads inside Await
  // return. Must not be called from inside a kernel call.
  virtual void Cancel(absl::Status reason) = 0;

 protected:
  friend class DeviceMemory;
  DeviceMemory Own(std::byte* data, uint64_t size) { return DeviceMemory(this, data, size); }
  // Frees memory that was handed out by Own.
  virtual void Free(std::byte* data, uint64_t size) = 0;
};

// Checks the options of a stream, the same way for every device; InvalidArgument names the field.
absl::Status CheckStreamOptions(const StreamOptions& options);

}  // namespace horizon
