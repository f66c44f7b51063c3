#include "tests/runtime/device/adversarial_device.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/device/find_ref.h"

namespace horizon {
namespace {

constexpr uint64_t kRanks = 1 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<AdversarialDevice>> AdversarialDevice::Create(
    const AdversarialOptions& options) {
  CHECK(options.clock != nullptr && options.queue_bound > 0);
  ASSIGN_OR_RETURN(HostMemory memory, HostMemory::Create(options.capacity));
  return std::unique_ptr<AdversarialDevice>(new AdversarialDevice(options, std::move(memory)));
}

AdversarialDevice::AdversarialDevice(const AdversarialOptions& options, HostMemory memory)
    : clock_(*options.clock),
      queue_bound_(static_cast<size_t>(options.queue_bound)),
      check_kernel_memory_(options.check_kernel_memory),
      memory_(std::move(memory)),
      random_(options.seed),
      arena_(options.capacity) {
  Poison(memory_.data(), memory_.size());
  thread_ = std::jthread([this] { Serve(); });
}

AdversarialDevice::~AdversarialDevice() {
  Cancel(absl::CancelledError("the device is destroyed"));
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  thread_.join();
  CHECK(arena_.used() == 0_B);
}

void AdversarialDevice::FailCall(uint64_t call, absl::Status status, DeviceFault fault) {
  const std::scoped_lock lock(mutex_);
  fail_call_ = call;
  fail_status_ = std::move(status);
  fault_ = fault;
}

uint64_t AdversarialDevice::calls() const {
  const std::scoped_lock lock(mutex_);
  return history_.size();
}

std::vector<std::string> AdversarialDevice::history() const {
  const std::scoped_lock lock(mutex_);
  return history_;
}

absl::Status AdversarialDevice::Count(std::string call, absl::Status* late) {
  history_.push_back(std::move(call));
  const uint64_t number = history_.size();
  if (fail_call_ == 0 || number < fail_call_) return absl::OkStatus();
  if (number > fail_call_ && fault_ != DeviceFault::kFromThereOn) return absl::OkStatus();
  if (fault_ == DeviceFault::kLate && late != nullptr) {
    *late = fail_status_;
    return absl::OkStatus();
  }
  return fail_status_;
}

absl::StatusOr<DeviceMemory> AdversarialDevice::Allocate(Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("Allocate ", bytes.value())));
  if (bytes == 0_B) return DeviceMemory();
  ASSIGN_OR_RETURN(const uint64_t offset, arena_.Allocate(bytes));
  allocations_[offset] = Allocation{.size = bytes.value(), .serial = ++last_serial_};
  return Own(memory_.data() + offset, bytes.value());
}

void AdversarialDevice::Free(std::byte* data, uint64_t size) {
  const std::scoped_lock lock(mutex_);
  const auto offset = static_cast<uint64_t>(data - memory_.data());
  Poison(data, size);
  allocations_.erase(offset);
  arena_.Free(offset);
}

Bytes AdversarialDevice::capacity() const { return arena_.capacity(); }

Bytes AdversarialDevice::used() const {
  const std::scoped_lock lock(mutex_);
  return arena_.used();
}

Bytes AdversarialDevice::high_water() const {
  const std::scoped_lock lock(mutex_);
  return arena_.high_water();
}

absl::Status AdversarialDevice::RegisterHost(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("RegisterHost ", memory.size())));
  return ranges_.Add(memory);
}

absl::Status AdversarialDevice::UnregisterHost(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("UnregisterHost ", memory.size())));
  return ranges_.Remove(memory);
}

absl::StatusOr<StreamRef> AdversarialDevice::CreateStream(const StreamOptions& options) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("CreateStream ", options.name)));
  RETURN_IF_ERROR(CheckStreamOptions(options));
  streams_.push_back(Stream{.name = options.name,
                            .scratch = options.scratch,
                            .error = cancelled_,
                            .rank = Random(kRanks)});
  return StreamRef{static_cast<int>(streams_.size()) - 1};
}

absl::StatusOr<EventRef> AdversarialDevice::CreateEvent() {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(Count("CreateEvent"));
  events_.emplace_back();
  return EventRef{static_cast<int>(events_.size()) - 1};
}

absl::StatusOr<std::shared_ptr<AdversarialDevice::Mark>> AdversarialDevice::FindRecorded(
    EventRef event, std::string_view who) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Mark>* mark, FindEvent(events_, event));
  if (*mark == nullptr) return NeverRecorded(event, who);
  return *mark;
}

uint64_t AdversarialDevice::AllocationOf(const std::byte* data, uint64_t bytes) const {
  const uint64_t offset =
      reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(memory_.data());
  auto around = allocations_.upper_bound(offset);
  if (around == allocations_.begin()) return 0;
  --around;
  const uint64_t into = offset - around->first;
  const Allocation& allocation = around->second;
  const bool inside = into <= allocation.size && bytes <= allocation.size - into;
  return inside ? allocation.serial : 0;
}

absl::Status AdversarialDevice::Put(std::unique_lock<std::mutex>& lock, Stream& stream, Work work) {
  ++crowded_;
  wanted_.notify_one();
  advanced_.wait(lock, [&] { return queued_ < queue_bound_ || !cancelled_.ok(); });
  --crowded_;
  if (!cancelled_.ok()) {
    if (work.record != nullptr) {
      Pass(*work.record, stream.error);
      return absl::OkStatus();
    }
    return stream.error;
  }
  stream.queue.push_back(std::move(work));
  ++queued_;
  // Others that found no room still need a step to be made.
  if (crowded_ > 0) wanted_.notify_one();
  return absl::OkStatus();
}

absl::Status AdversarialDevice::Copy(const char* what, StreamRef stream, CopyWork copy) {
  std::unique_lock lock(mutex_);
  absl::Status late;
  RETURN_IF_ERROR(Count(StrCat(what, " ", copy.bytes), &late));
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  const bool to_device = copy.direction == LinkDirection::kToDevice;
  if (copy.bytes > 0) {
    copy.allocation = AllocationOf(to_device ? copy.target : copy.source, copy.bytes);
    if (copy.allocation == 0) {
      return absl::InvalidArgumentError(
          StrCat("copy of ", copy.bytes, " bytes: the device side lies outside any allocation"));
    }
    if (!ranges_.Contains(to_device ? copy.source : copy.target, copy.bytes)) {
      return absl::InvalidArgumentError(StrCat(
          "copy of ", copy.bytes, " bytes: the host side lies outside any registered range"));
    }
  }
  return Put(lock, *found, Work{.copy = copy, .fault = late});
}

absl::Status AdversarialDevice::CopyToDevice(StreamRef stream, std::byte* device_target,
                                             const std::byte* host_source, Bytes bytes) {
  return Copy("CopyToDevice", stream,
              {.target = device_target,
               .source = host_source,
               .bytes = bytes.value(),
               .direction = LinkDirection::kToDevice});
}

absl::Status AdversarialDevice::CopyToHost(StreamRef stream, std::byte* host_target,
                                           const std::byte* device_source, Bytes bytes) {
  return Copy("CopyToHost", stream,
              {.target = host_target,
               .source = device_source,
               .bytes = bytes.value(),
               .direction = LinkDirection::kToHost});
}

absl::Status AdversarialDevice::Launch(StreamRef stream, const LaunchOptions& options,
                                       KernelCall kernel) {
  std::unique_lock lock(mutex_);
  absl::Status late;
  RETURN_IF_ERROR(Count(StrCat("Launch ", options.name), &late));
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  if (kernel == nullptr) return absl::InvalidArgumentError(StrCat(options.name, ": no kernel"));
  return Put(lock, *found,
             Work{.kernel = std::move(kernel),
                  .name = options.name,
                  .declared = options.memory,
                  .fault = late});
}

absl::Status AdversarialDevice::Record(StreamRef stream, EventRef event) {
  std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("Record ", event.index)));
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  ASSIGN_OR_RETURN(std::shared_ptr<Mark> * last, FindEvent(events_, event));
  auto mark = std::make_shared<Mark>(Mark{.stream = stream.index});
  RETURN_IF_ERROR(Put(lock, *found, Work{.record = mark}));
  *last = std::move(mark);
  return absl::OkStatus();
}

absl::Status AdversarialDevice::Wait(StreamRef stream, EventRef event) {
  std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("Wait ", event.index)));
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  ASSIGN_OR_RETURN(std::shared_ptr<Mark> mark, FindRecorded(event, found->name));
  return Put(lock, *found, Work{.wait = std::move(mark)});
}

absl::Status AdversarialDevice::Await(EventRef event) {
  std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("Await ", event.index)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Mark> mark, FindRecorded(event, "Await"));
  if (!mark->passed) {
    awaited_.push_back(mark);
    wanted_.notify_one();
    advanced_.wait(lock, [&] { return mark->passed; });
  }
  return mark->error;
}

absl::StatusOr<Nanoseconds> AdversarialDevice::TimeOf(EventRef event) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(Count(StrCat("TimeOf ", event.index)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Mark> mark, FindRecorded(event, "TimeOf"));
  if (!mark->passed) {
    return absl::FailedPreconditionError(StrCat("TimeOf: event ", event.index, " has not passed"));
  }
  RETURN_IF_ERROR(mark->error);
  return mark->time;
}

void AdversarialDevice::Cancel(absl::Status reason) {
  CHECK(!reason.ok());
  // Dies after the lock: what a kernel has captured may call us.
  std::vector<Work> dropped;
  std::unique_lock lock(mutex_);
  if (cancelled_.ok()) cancelled_ = reason;
  for (Stream& stream : streams_) {
    if (stream.error.ok()) stream.error = reason;
    for (Work& work : stream.queue) {
      if (work.record != nullptr) Pass(*work.record, stream.error);
    }
    std::move(stream.queue.begin(), stream.queue.end(), std::back_inserter(dropped));
    stream.queue.clear();
  }
  queued_ = 0;
  advanced_.notify_all();
  advanced_.wait(lock, [&] { return !running_; });
}

// What the thread does.

void AdversarialDevice::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [&] { return stopping_ || Wanted(); });
    if (stopping_) return;
    Step(lock, Pick());
    advanced_.notify_all();
  }
}

bool AdversarialDevice::Wanted() const {
  return !awaited_.empty() || (crowded_ > 0 && queued_ >= queue_bound_);
}

// SplitMix64.
uint64_t AdversarialDevice::Random(uint64_t below) {
  uint64_t mixed = random_ += 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return (mixed ^ (mixed >> 31)) % below;
}

bool AdversarialDevice::Blocked(const Stream& stream) {
  return stream.queue.empty() ||
         (stream.queue.front().wait != nullptr && !stream.queue.front().wait->passed);
}

// The one stream that must go on for this one to go on. A wait points at an earlier mark, so the
// way ends.
AdversarialDevice::Stream& AdversarialDevice::Needed(int stream) {
  while (Blocked(streams_[stream])) {
    CHECK(!streams_[stream].queue.empty());
    stream = streams_[stream].queue.front().wait->stream;
  }
  return streams_[stream];
}

AdversarialDevice::Stream& AdversarialDevice::Pick() {
  // The order of the streams holds for a few steps, so that one can get far ahead.
  if (Random(8) == 0) {
    lazy_ = Random(3) == 0;
    for (Stream& stream : streams_) stream.rank = Random(kRanks);
  }
  if (lazy_ && !awaited_.empty()) return Needed(awaited_[Random(awaited_.size())]->stream);
  Stream* picked = nullptr;
  for (Stream& stream : streams_) {
    if (!Blocked(stream) && (picked == nullptr || stream.rank < picked->rank)) picked = &stream;
  }
  CHECK(picked != nullptr);
  return *picked;
}

void AdversarialDevice::Pass(Mark& mark, const absl::Status& error) {
  mark.passed = true;
  mark.error = error;
  mark.time = clock_.Now();
  std::erase_if(awaited_, [&](const auto& awaited) { return awaited.get() == &mark; });
}

absl::Status AdversarialDevice::CheckAlive(const CopyWork& copy) const {
  const bool to_device = copy.direction == LinkDirection::kToDevice;
  if (AllocationOf(to_device ? copy.target : copy.source, copy.bytes) != copy.allocation) {
    return absl::InternalError("device memory was freed before its copy had ended");
  }
  if (!ranges_.Contains(to_device ? copy.source : copy.target, copy.bytes)) {
    return absl::InternalError("host memory was unregistered before its copy had ended");
  }
  return absl::OkStatus();
}

bool AdversarialDevice::Begin(Stream& stream, Work& work) const {
  if (work.copy.bytes == 0 || work.copy.begun || !stream.error.ok()) return false;
  if (!work.fault.ok() || !CheckAlive(work.copy).ok()) return false;
  Poison(work.copy.target, work.copy.bytes);
  return work.copy.begun = true;
}

std::vector<std::span<std::byte>> AdversarialDevice::KernelReach() const {
  std::vector<std::span<std::byte>> all;
  for (const auto& [offset, allocation] : allocations_) {
    if (check_kernel_memory_) all.emplace_back(memory_.data() + offset, allocation.size);
  }
  return all;
}

absl::Status AdversarialDevice::RunKernel(const std::vector<std::span<std::byte>>& all,
                                          const Stream& stream, const Work& work) const {
  MemoryGuard guard(all, check_kernel_memory_ ? work.declared : std::vector<KernelMemory>());
  const absl::Status status = work.kernel({.workers = workers_.get(), .scratch = stream.scratch});
  const absl::Status kept = guard.Finish(work.name);
  return status.ok() ? kept : status;
}

void AdversarialDevice::Step(std::unique_lock<std::mutex>& lock, Stream& stream) {
  if (Begin(stream, stream.queue.front())) return;
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  absl::Status status = work.fault;
  const bool skipped = !status.ok() || !stream.error.ok();
  if (work.record != nullptr) {
    Pass(*work.record, stream.error);
  } else if (work.wait != nullptr) {
    status = work.wait->error;
  } else if (work.kernel != nullptr) {
    running_ = true;
    const std::vector<std::span<std::byte>> all = KernelReach();
    lock.unlock();
    if (!skipped) status = RunKernel(all, stream, work);
    work.kernel = nullptr;  // without the lock: what it has captured may call us
    lock.lock();
    running_ = false;
  } else if (!skipped && work.copy.bytes > 0) {
    status = CheckAlive(work.copy);
    if (status.ok()) std::memcpy(work.copy.target, work.copy.source, work.copy.bytes);
  }
  if (stream.error.ok()) stream.error = std::move(status);
  // Cancel empties the queues, also while a kernel runs.
  if (queued_ > 0) --queued_;
}

}  // namespace horizon
