#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/host_memory.h"
#include "common/threads/workers.h"
#include "runtime/device/arena.h"
#include "runtime/device/device.h"
#include "runtime/device/host_ranges.h"
#include "tests/runtime/device/memory_guard.h"

namespace horizon {

struct AdversarialOptions {
  Bytes capacity;
  uint64_t seed = 0;
  int queue_bound = 64;  // work of all streams together; a call that would pass it blocks
  Clock* clock = nullptr;
  // Each kernel finds poison in all device memory but what its launch declares (memory_guard.h),
  // and a run in which one writes anything else fails with Internal.
  bool check_kernel_memory = false;
};

enum class DeviceFault {
  kOnce,         // the call does nothing and returns the error
  kFromThereOn,  // this call and all later ones
  kLate,         // a copy or launch is accepted and fails when its turn comes; others as kOnce
};

// A device for tests that is as unkind as the contract allows. Work calls only queue. One thread
// does the work, as late as it can: when somebody awaits an event that has not passed, or when the
// queue is full. Which stream goes on is drawn from the seed: now one stream runs far ahead of the
// others, now only what is needed runs. A copy takes two turns: at the first its target is
// poisoned, at the second the bytes are read and written, and other streams work in between. So
// whoever changes a source too early, reads a target too early, or forgets a wait gets poison or
// old bytes under some seed. Fresh and freed memory is poisoned; a copy that finds its memory freed
// or unregistered when it runs fails with Internal.
//
// With one feeding thread a seed gives one order, always the same.
class AdversarialDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<AdversarialDevice>> Create(
      const AdversarialOptions& options);
  ~AdversarialDevice() override;

  // Makes the call with this number (from 1, counted from creation) go wrong. Every call of Device
  // that can return an error counts.
  void FailCall(uint64_t call, absl::Status status, DeviceFault fault = DeviceFault::kOnce);
  uint64_t calls() const;
  // The calls so far in order, as "Launch compute: forward 3".
  std::vector<std::string> history() const;

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
  bool ChecksKernelMemory() const override { return check_kernel_memory_; }
  absl::Status Record(StreamRef stream, EventRef event) override;
  absl::Status Wait(StreamRef stream, EventRef event) override;
  absl::Status Await(EventRef event) override;
  absl::StatusOr<Nanoseconds> TimeOf(EventRef event) override;
  void Cancel(absl::Status reason) override;

 private:
  // One Record of an event. Waits and Awaits hold the one they mean.
  struct Mark {
    int stream = 0;
    bool passed = false;
    absl::Status error;
    Nanoseconds time{0};
  };
  struct CopyWork {
    std::byte* target = nullptr;
    const std::byte* source = nullptr;
    uint64_t bytes = 0;
    LinkDirection direction = LinkDirection::kToDevice;
    uint64_t allocation = 0;  // the one it was queued for
    bool begun = false;
  };
  // Exactly one of kernel, record, wait, or else a copy.
  struct Work {
    CopyWork copy;
    KernelCall kernel;
    std::string name;                    // of the kernel
    std::vector<KernelMemory> declared;  // by it
    std::shared_ptr<Mark> record;
    std::shared_ptr<Mark> wait;
    absl::Status fault;  // what it fails with when its turn comes
  };
  struct Stream {
    std::string name;
    std::span<std::byte> scratch;
    std::deque<Work> queue;
    absl::Status error;  // the first
    uint64_t rank = 0;   // the runnable stream of least rank goes on
  };
  struct Allocation {
    uint64_t size = 0;
    uint64_t serial = 0;
  };

  AdversarialDevice(const AdversarialOptions& options, HostMemory memory);
  void Free(std::byte* data, uint64_t size) override;

  // For all below mutex_ is held, but for the time a kernel runs.
  absl::Status Count(std::string call, absl::Status* late = nullptr);
  absl::StatusOr<std::shared_ptr<Mark>> FindRecorded(EventRef event, std::string_view who);
  // The serial of the allocation around these bytes; 0 when none is.
  uint64_t AllocationOf(const std::byte* data, uint64_t bytes) const;
  absl::Status Copy(const char* what, StreamRef stream, CopyWork copy);
  // Blocks while the queue is full.
  absl::Status Put(std::unique_lock<std::mutex>& lock, Stream& stream, Work work);

  void Serve();
  bool Wanted() const;
  uint64_t Random(uint64_t below);
  Stream& Pick();
  Stream& Needed(int stream);
  static bool Blocked(const Stream& stream);
  void Step(std::unique_lock<std::mutex>& lock, Stream& stream);
  // The memory a kernel is held out of unless it declares it; none where that is not checked.
  std::vector<std::span<std::byte>> KernelReach() const;
  // Without the lock.
  absl::Status RunKernel(const std::vector<std::span<std::byte>>& all, const Stream& stream,
                         const Work& work) const;
  // A copy's first turn; false when it has none, or no more.
  bool Begin(Stream& stream, Work& work) const;
  absl::Status CheckAlive(const CopyWork& copy) const;
  void Pass(Mark& mark, const absl::Status& error);

  Clock& clock_;
  const size_t queue_bound_;
  const bool check_kernel_memory_;
  const HostMemory memory_;
  const std::unique_ptr<Workers> workers_ = Workers::Inline();

  mutable std::mutex mutex_;
  std::condition_variable wanted_;    // for the thread: there is something to do
  std::condition_variable advanced_;  // for everybody else: a step was made
  uint64_t random_;
  Arena arena_;
  HostRanges ranges_;
  std::map<uint64_t, Allocation> allocations_;  // by offset
  uint64_t last_serial_ = 0;
  std::deque<Stream> streams_;
  std::deque<std::shared_ptr<Mark>> events_;  // the last mark of each; null: never recorded
  std::vector<std::shared_ptr<Mark>> awaited_;
  size_t queued_ = 0;  // Work in all queues
  int crowded_ = 0;    // calls that want to put more
  bool running_ = false;
  bool lazy_ = false;  // only what is needed runs
  bool stopping_ = false;
  absl::Status cancelled_;

  std::vector<std::string> history_;
  uint64_t fail_call_ = 0;
  absl::Status fail_status_;
  DeviceFault fault_ = DeviceFault::kOnce;

  std::jthread thread_;
};

}  // namespace horizon
