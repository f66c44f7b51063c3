#include "runtime/device/host_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/device/copy_bytes.h"
#include "runtime/device/copy_ranges.h"
#include "runtime/device/find_ref.h"

namespace horizon {
namespace {

// A copy with a bandwidth limit pauses after each piece, so that its memory traffic is spread over
// its time.
constexpr uint64_t kLimitedPieceBytes = uint64_t{4} << 20;

absl::Status CheckRate(const std::optional<BytesPerSecond>& rate, const char* direction) {
  if (!rate || (std::isfinite(rate->value) && rate->value > 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("link ", direction, ": ", rate->value, " bytes/s; a rate is above zero and finite"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostDevice>> HostDevice::Create(const HostDeviceOptions& options) {
  if (options.clock == nullptr) return absl::InvalidArgumentError("a host device needs a clock");
  RETURN_IF_ERROR(CheckRate(options.to_device, "to the device"));
  RETURN_IF_ERROR(CheckRate(options.to_host, "to the host"));
  ASSIGN_OR_RETURN(HostMemory memory, HostMemory::Create(options.capacity, options.memory));
  return std::unique_ptr<HostDevice>(new HostDevice(options, std::move(memory)));
}

HostDevice::HostDevice(const HostDeviceOptions& options, HostMemory memory)
    : clock_(*options.clock),
      memory_(std::move(memory)),
      to_device_(options.to_device, clock_),
      to_host_(options.to_host, clock_),
      arena_(options.capacity) {}

HostDevice::~HostDevice() {
  Cancel(absl::CancelledError("the device is destroyed"));
  CHECK(arena_.used() == 0_B);
}

absl::StatusOr<DeviceMemory> HostDevice::Allocate(Bytes bytes) {
  if (bytes == 0_B) return DeviceMemory();
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(const uint64_t offset, arena_.Allocate(bytes));
  return Own(memory_.data() + offset, bytes.value());
}

void HostDevice::Free(std::byte* data, uint64_t size) {
  const std::scoped_lock lock(mutex_);
  arena_.Free(static_cast<uint64_t>(data - memory_.data()));
}

Bytes HostDevice::capacity() const { return arena_.capacity(); }

Bytes HostDevice::used() const {
  const std::scoped_lock lock(mutex_);
  return arena_.used();
}

Bytes HostDevice::high_water() const {
  const std::scoped_lock lock(mutex_);
  return arena_.high_water();
}

absl::Status HostDevice::RegisterHost(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  return ranges_.Add(memory);
}

absl::Status HostDevice::UnregisterHost(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  return ranges_.Remove(memory);
}

absl::StatusOr<StreamRef> HostDevice::CreateStream(const StreamOptions& options) {
  RETURN_IF_ERROR(CheckStreamOptions(options));
  ASSIGN_OR_RETURN(std::unique_ptr<Workers> workers,
                   Workers::Create(options.name, options.threads));
  const KernelContext context{.workers = workers.get(), .scratch = options.scratch};
  const std::scoped_lock lock(mutex_);
  streams_.push_back(Stream{.name = options.name,
                            .workers = std::move(workers),
                            .context = context,
                            .error = cancelled_});
  return StreamRef{static_cast<int>(streams_.size()) - 1};
}

absl::StatusOr<EventRef> HostDevice::CreateEvent() {
  const std::scoped_lock lock(mutex_);
  events_.emplace_back();
  return EventRef{static_cast<int>(events_.size()) - 1};
}

LinkLimit& HostDevice::LinkOf(LinkDirection direction) {
  return direction == LinkDirection::kToDevice ? to_device_ : to_host_;
}

absl::Status HostDevice::Run(std::unique_lock<std::mutex>& lock, Stream& stream,
                             absl::FunctionRef<absl::Status()> work) {
  if (stream.busy) {
    return absl::FailedPreconditionError(
        StrCat("stream ", stream.name, " is fed by two threads at once"));
  }
  if (!stream.error.ok()) return stream.error;
  stream.busy = true;
  ++running_;
  lock.unlock();
  absl::Status status = work();
  lock.lock();
  stream.busy = false;
  if (--running_ == 0) idle_.notify_all();
  // Cancel may have failed the stream meanwhile.
  if (stream.error.ok()) stream.error = std::move(status);
  return stream.error;
}

absl::Status HostDevice::Copy(StreamRef stream, std::byte* target, const std::byte* source,
                              Bytes size, LinkDirection direction) {
  const uint64_t bytes = size.value();
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  const bool to_device = direction == LinkDirection::kToDevice;
  RETURN_IF_ERROR(CheckCopyRanges(arena_, memory_.data(), ranges_, to_device ? target : source,
                                  to_device ? source : target, size));
  return Run(lock, *found, [&]() -> absl::Status {
    LinkLimit& link = LinkOf(direction);
    LinkLimit::Transfer transfer(link);
    const uint64_t piece = link.limited() ? kLimitedPieceBytes : bytes;
    for (uint64_t done = 0; done < bytes;) {
      const uint64_t next = std::min(piece, bytes - done);
      CopyBytes(target + done, source + done, next, *found->workers);
      done += next;
      if (!transfer.AwaitCrossed(Bytes(done), stop_.get_token())) {
        return absl::CancelledError(StrCat("copy of ", bytes, " bytes ended after ", done));
      }
    }
    return absl::OkStatus();
  });
}

absl::Status HostDevice::CopyToDevice(StreamRef stream, std::byte* device_target,
                                      const std::byte* host_source, Bytes bytes) {
  return Copy(stream, device_target, host_source, bytes, LinkDirection::kToDevice);
}

absl::Status HostDevice::CopyToHost(StreamRef stream, std::byte* host_target,
                                    const std::byte* device_source, Bytes bytes) {
  return Copy(stream, host_target, device_source, bytes, LinkDirection::kToHost);
}

absl::Status HostDevice::Launch(StreamRef stream, const LaunchOptions& options, KernelCall kernel) {
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  if (kernel == nullptr) return absl::InvalidArgumentError(StrCat(options.name, ": no kernel"));
  return Run(lock, *found, [&]() -> absl::Status {
    if (options.link_bytes == 0_B) return kernel(found->context);
    LinkLimit::Transfer transfer(LinkOf(options.direction));
    RETURN_IF_ERROR(kernel(found->context));
    if (!transfer.AwaitCrossed(options.link_bytes, stop_.get_token())) {
      return absl::CancelledError(StrCat(options.name, ": ended on its way over the link"));
    }
    return absl::OkStatus();
  });
}

absl::Status HostDevice::Record(StreamRef stream, EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * from, FindStream(streams_, stream));
  ASSIGN_OR_RETURN(Event * mark, FindEvent(events_, event));
  *mark = Event{.recorded = true, .error = from->error, .time = clock_.Now()};
  return absl::OkStatus();
}

absl::Status HostDevice::Wait(StreamRef stream, EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  ASSIGN_OR_RETURN(const Event* mark, FindRecorded(events_, event, found->name));
  if (found->error.ok()) found->error = mark->error;
  return found->error;
}

absl::Status HostDevice::Await(EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(const Event* mark, FindRecorded(events_, event, "Await"));
  return mark->error;
}

absl::StatusOr<Nanoseconds> HostDevice::TimeOf(EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(const Event* mark, FindRecorded(events_, event, "TimeOf"));
  RETURN_IF_ERROR(mark->error);
  return mark->time;
}

void HostDevice::Cancel(absl::Status reason) {
  CHECK(!reason.ok());
  std::unique_lock lock(mutex_);
  if (cancelled_.ok()) cancelled_ = reason;
  for (Stream& stream : streams_) {
    if (stream.error.ok()) stream.error = reason;
  }
  // Only now, so that a copy that is stopped finds the reason already set.
  lock.unlock();
  stop_.request_stop();
  lock.lock();
  idle_.wait(lock, [this] { return running_ == 0; });
}

}  // namespace horizon
