#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/threads/workers.h"
#include "common/units.h"
#include "runtime/device/arena.h"
#include "runtime/device/device.h"
#include "runtime/device/host_ranges.h"
#include "runtime/device/link_limit.h"

namespace horizon {

// How HostDevice::Create makes a device.
struct HostDeviceOptions {
  Bytes capacity;  // all of it is mapped at creation, rounded up to pages
  // Limit the bandwidth of copies, and of launches with link_bytes, in each direction. Without a
  // limit they are as fast as memory allows. Finite and above zero.
  std::optional<BytesPerSecond> to_device;
  std::optional<BytesPerSecond> to_host;
  Clock* clock = nullptr;  // outlives the device
  HostMemoryOptions memory;
};

// The machine's own CPU as a device. Its memory is one mapping, and a copy is a memcpy. Work is
// done inside the call, by the calling thread and the stream's workers. So streams overlap exactly
// when different threads feed them, an event has passed as soon as it is recorded, and Wait and
// Await never block. A failing copy or launch returns its error from the call itself.
class HostDevice final : public Device {
 public:
  // InvalidArgument for a bad bandwidth or a missing clock; ResourceExhausted when the memory
  // cannot be allocated.
  static absl::StatusOr<std::unique_ptr<HostDevice>> Create(const HostDeviceOptions& options);
  ~HostDevice() override;

  absl::StatusOr<DeviceMemory> Allocate(Bytes bytes) override;
  Bytes capacity() const override;
  Bytes used() const override;
  Bytes high_water() const override;
  absl::Status RegisterHost(std::span<std::byte> memory) override;
  absl::Status UnregisterHost(std::span<std::byte> memory) override;
  absl::StatusOr<StreamRef> CreateStream(const StreamOptions& options) override;
  absl::StatusOr<EventRef> CreateEvent() override;
  absl::Status CopyToDevice(StreamRef stream, std::byte* device_target,
                            const std::byte* host_source, Bytes bytes) override;
  absl::Status CopyToHost(StreamRef stream, std::byte* host_target, const std::byte* device_source,
                          Bytes bytes) override;
  absl::Status Launch(StreamRef stream, const LaunchOptions& options, KernelCall kernel) override;
  absl::Status Record(StreamRef stream, EventRef event) override;
  absl::Status Wait(StreamRef stream, EventRef event) override;
  absl::Status Await(EventRef event) override;
  absl::StatusOr<Nanoseconds> TimeOf(EventRef event) override;
  void Cancel(absl::Status reason) override;

 private:
  struct Stream {
    std::string name;
    std::unique_ptr<Workers> workers;
    KernelContext context;
    bool busy = false;   // guarded by mutex_
    absl::Status error;  // the first; guarded by mutex_
  };
  struct Event {
    bool recorded = false;
    absl::Status error;
    Nanoseconds time{0};
  };

  HostDevice(const HostDeviceOptions& options, HostMemory memory);
  void Free(std::byte* data, uint64_t size) override;

  absl::Status Copy(StreamRef stream, std::byte* target, const std::byte* source, Bytes bytes,
                    LinkDirection direction);
  // Runs `work` on behalf of the stream and keeps its error. `lock` is released meanwhile.
  absl::Status Run(std::unique_lock<std::mutex>& lock, Stream& stream,
                   absl::FunctionRef<absl::Status()> work);
  LinkLimit& LinkOf(LinkDirection direction);

  Clock& clock_;
  const HostMemory memory_;
  LinkLimit to_device_;
  LinkLimit to_host_;
  std::stop_source stop_;  // requested by Cancel

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;  // calls inside Run; guarded by mutex_, as all below
  absl::Status cancelled_;
  Arena arena_;
  HostRanges ranges_;
  std::deque<Stream> streams_;  // deques: elements stay where they are
  std::deque<Event> events_;
};

}  // namespace horizon
