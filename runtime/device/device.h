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

// Every allocation begins at a multiple of this.
inline constexpr uint64_t kDeviceAlignment = 256;

// Owns a piece of a device's memory and gives it back when it dies. The device outlives it. Work
// that uses the piece must have passed (Await) or been ended (Cancel) before.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  // An address of the device: for kernels and copies, never to be read by the host. Null when
  // empty.
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

// Names of a stream and of an event of one device. They own nothing and are copied freely; what
// they name lives as long as the device.
struct StreamRef {
  int index = -1;
  friend bool operator==(StreamRef, StreamRef) = default;
};
struct EventRef {
  int index = -1;
  friend bool operator==(EventRef, EventRef) = default;
};

struct StreamOptions {
  std::string name;  // for messages and for the names of threads
  int threads = 1;   // workers of host kernels (1..1024), the thread that runs them among them
  // KernelContext::scratch of the stream's kernels: aligned to 64, at least threads x
  // kWorkerScratchBytes, alive as long as the device. Empty where no kernel needs any. On CUDA it
  // is memory of the device: the first kGemmWorkspaceBytes are for matrix multiplies, the rest is
  // KernelContext::device_workspace.
  std::span<std::byte> scratch;
  // KernelContext::device_context of the stream's kernels, alive as long as the device. Null on the
  // host, and where no kernel multiplies matrices.
  DeviceContext* device_context = nullptr;
};

enum class LinkDirection { kToDevice, kToHost };

// Device memory that a kernel reads, writes, or both.
struct KernelMemory {
  std::span<std::byte> memory;
  bool reads = false;
  bool writes = false;
};

struct LaunchOptions {
  std::string name;  // for messages
  // All device memory the kernel uses, for devices that check it (Device::ChecksKernelMemory).
  std::vector<KernelMemory> memory;
  // A kernel that itself moves bytes over the link says how many and where to: a limit of the
  // link's bandwidth then holds it as it holds copies.
  Bytes link_bytes;
  LinkDirection direction = LinkDirection::kToDevice;
};

// What a kernel call is to the device: called at most once, then or later, on any thread; dropped
// uncalled when the stream has failed. So it owns what it captures, and the memory it names stays
// until an event recorded behind it has passed. It makes no call of the device. On CUDA it puts
// kernels on context.stream and returns before they run.
using KernelCall = std::function<absl::Status(const KernelContext& context)>;

// An accelerator, or what stands for one: memory, streams and events. The executor knows nothing
// else of a device; all devices pass one suite (selftest/conformance/conformance.h).
//
// A stream is a queue: its work begins in the order it was put there, each piece when the one
// before has ended. Streams know nothing of each other but by events. Work calls (CopyToDevice,
// CopyToHost, Launch, Record, Wait) may return before the work has begun; only Await says that it
// has ended. The buffers of a copy belong to the device until then. A device may also do the work
// inside the call, as the host device does; nobody may count on either.
//
// Events. Record puts a mark behind the stream's work so far; the event has passed when the stream
// reaches the mark. Wait and Await mean the recording that was the last when they are called;
// recording again changes the meaning for later calls only. So an event is recorded again only when
// all who wait for its earlier mark have made their call. An event never recorded has nothing to
// wait for: Wait, Await and TimeOf are then FailedPrecondition on every device, and a thread that
// feeds one stream and needs the mark of another thread's must first learn from that thread that
// Record has been called. Since every wait points at a mark that already stands in some queue,
// streams cannot wait for each other in a circle.
//
// Errors are of two kinds. A call that is wrong (a bad range, an unknown stream) returns at once,
// puts nothing on the stream and leaves it as it was. Work that fails spoils its stream: what
// stands behind it is skipped, Await of a mark behind it returns that first error, unchanged, and a
// stream that waits for such a mark is spoiled with the same error, so nothing is computed from
// what was never made. Marks before the failure stay good. Record still marks (a spoiled mark
// passes, so nobody hangs); the other work calls may already return the stream's error, as the host
// device's do from the failing call itself on. A spoiled stream stays so. A device that is lost
// spoils all its streams with one error; marks it is known to have passed stay good.
//
// Threads: each stream is fed by one thread at a time, different streams by different threads at
// once. Everything else may be called from any thread at any time.
//
// The destructor ends all work as Cancel does. All DeviceMemory is gone by then.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // Memory of unknown contents at a multiple of kDeviceAlignment. Zero bytes are an empty owner.
  // More than capacity() - used() is ResourceExhausted with all three figures; up to that is only
  // refused when earlier frees have left no piece large enough, and the message says so.
  virtual absl::StatusOr<DeviceMemory> Allocate(Bytes bytes) = 0;
  virtual Bytes capacity() const = 0;
  // Bytes taken: each allocation rounded up to kDeviceAlignment, but never past capacity().
  virtual Bytes used() const = 0;
  // The largest used() so far.
  virtual Bytes high_water() const = 0;

  // Page-locks host memory. The host side of every copy must lie within one registered range.
  // InvalidArgument for an empty range or one that overlaps another; ResourceExhausted when the
  // system allows no more. Unregister takes exactly a registered range, which no pending work uses.
  virtual absl::Status RegisterHost(std::span<std::byte> memory) = 0;
  // The same without locking the pages: copies are slower and may wait for the stream's work so
  // far.
  virtual absl::Status RegisterPageable(std::span<std::byte> memory) {
    return RegisterHost(memory);
  }
  virtual absl::Status UnregisterHost(std::span<std::byte> memory) = 0;

  virtual absl::StatusOr<StreamRef> CreateStream(const StreamOptions& options) = 0;
  virtual absl::StatusOr<EventRef> CreateEvent() = 0;

  // The device side must lie within one DeviceMemory, the host side within one registered range
  // (InvalidArgument). Zero bytes are fine, whatever the pointers.
  virtual absl::Status CopyToDevice(StreamRef stream, std::byte* device_target,
                                    const std::byte* host_source, Bytes bytes) = 0;
  virtual absl::Status CopyToHost(StreamRef stream, std::byte* host_target,
                                  const std::byte* device_source, Bytes bytes) = 0;
  virtual absl::Status Launch(StreamRef stream, const LaunchOptions& options,
                              KernelCall kernel) = 0;
  // Whether Launch looks at LaunchOptions::memory.
  virtual bool ChecksKernelMemory() const { return false; }

  virtual absl::Status Record(StreamRef stream, EventRef event) = 0;
  // Later work of the stream begins when the event has passed.
  virtual absl::Status Wait(StreamRef stream, EventRef event) = 0;
  // Blocks the calling thread until the event has passed. The first error of the work before the
  // mark, errors that reached the stream through Wait among it. Host memory that this work read or
  // wrote belongs to the caller again.
  virtual absl::Status Await(EventRef event) = 0;
  // When the event, as last recorded, passed: on the clock given at creation, as exactly as the
  // device can tell. FailedPrecondition before it has passed; the error that Await returns, if any;
  // the device's own when it is lost and tells nothing any more.
  virtual absl::StatusOr<Nanoseconds> TimeOf(EventRef event) = 0;

  // The way out after an error; cannot fail. Work that has not begun is dropped if the device can,
  // else done: CUDA takes nothing back from a stream. When the call returns none is left and none
  // runs, so that all memory may be freed. Every stream that has no error
  // yet is spoiled with `reason` (not OK), later ones too; work calls but Record return the
  // stream's error from now on, and threads inside Await return. Not to be called from inside a
  // kernel.
  virtual void Cancel(absl::Status reason) = 0;

 protected:
  friend class DeviceMemory;
  DeviceMemory Own(std::byte* data, uint64_t size) { return DeviceMemory(this, data, size); }
  // Takes back what Own gave out.
  virtual void Free(std::byte* data, uint64_t size) = 0;
};

// What every device asks of the options of a stream: InvalidArgument names the field.
absl::Status CheckStreamOptions(const StreamOptions& options);

}  // namespace horizon
