#include "runtime/device/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/check.h"
#include "common/cuda_result.cuh"
#include "common/cuda_status.h"
#include "common/failure_source.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "runtime/device/arena.h"
#include "runtime/device/copy_ranges.h"
#include "runtime/device/cuda_handles.h"
#include "runtime/device/cuda_locked_pages.h"
#include "runtime/device/cuda_progress_marks.h"
#include "runtime/device/cuda_staging.h"
#include "runtime/device/cuda_survey.h"
#include "runtime/device/cuda_time.h"
#include "runtime/device/find_ref.h"
#include "runtime/device/host_ranges.h"
#include "runtime/device/stream_progress.h"

namespace horizon {
namespace {

using Place = StreamProgress::Place;

// How often a wait is tried when it fails and the device is not lost.
constexpr int kMostTries = 3;

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const CudaDeviceOptions& options)
      : options_(options),
        clock_(*options.clock),
        pages_(options.most_locked_piece_bytes.value()),
        arena_(options.capacity) {}
  ~CudaDevice() override;
  // Called once, first.
  absl::Status Initialise();

  absl::StatusOr<DeviceMemory> Allocate(Bytes bytes) override;
  Bytes capacity() const override { return arena_.capacity(); }
  Bytes used() const override;
  Bytes high_water() const override;
  absl::Status RegisterHost(std::span<std::byte> memory) override;
  absl::Status RegisterPageable(std::span<std::byte> memory) override;
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
    int index = 0;
    std::string name;
    UniqueStream stream;
    std::unique_ptr<Workers> workers;
    KernelContext context;
    std::unique_ptr<StagingBuffer> staging;  // once some host memory needs it
    bool busy = false;                       // guarded by mutex_
    absl::Status error;                      // the first; guarded by mutex_
  };
  struct Event {
    UniqueEvent event;
    bool recorded = false;
    uint64_t recording = 0;  // how often
    Place place;             // of the last recording
    absl::Status error;      // the stream's error before it, if any
    std::shared_ptr<const TimeBase> time_base;
  };
  using Work = absl::FunctionRef<absl::Status(Stream& stream)>;

  void Free(std::byte* data, uint64_t size) override;
  std::byte* base() const { return static_cast<std::byte*>(memory_.get()); }

  // Makes the device the calling thread's current device.
  cudaError_t Select() const { return cudaSetDevice(options_.index); }
  absl::Status Reserve();
  absl::Status RenewTimeBase();

  // The functions from here to EnsureStagingBuffer are called with mutex_ held; only
  // LostDeviceError does not need it.
  //
  // Reads from the marks how far the streams have come.
  void ReadProgress();
  // The error of a call that failed: the device's error if the device is lost, otherwise the call's
  // own.
  absl::Status Failed(cudaError_t error, std::string_view what);
  absl::Status FailedWork(absl::Status status);
  // The error that every call returns once the device is lost, or cudaSuccess. Clears CUDA's last
  // error.
  cudaError_t LostDeviceError() const;
  // Records that the device is lost: all streams fail with one error.
  void MarkLost(cudaError_t error);
  // LockOrStage page-locks the memory; where that fails, it falls back to Stage, which gives every
  // stream a staging buffer.
  absl::Status Stage(std::span<std::byte> memory);
  absl::Status LockOrStage(std::span<std::byte> memory);
  absl::Status EnsureStagingBuffer(Stream& stream);

  // Runs `work`, which enqueues work called `name` on the stream, and keeps its error. The lock is
  // released meanwhile.
  absl::Status Run(std::unique_lock<std::mutex>& lock, Stream& stream, StreamProgress::Kind kind,
                   const std::string& name, Work work);
  absl::Status Copy(StreamRef stream, std::byte* device, std::byte* host, uint64_t bytes,
                    LinkDirection direction);
  // Copies memory that is all page-locked, piece by piece.
  static cudaError_t CopyPieces(cudaStream_t stream, std::byte* device, std::byte* host,
                                std::span<const uint64_t> pieces, LinkDirection direction);
  // Waits by calling `wait`, a CUDA call, and tries again when that fails and the device is not
  // lost, since the memory of pending work must not be reused before. Returns the first error even
  // if a later try succeeds.
  cudaError_t RetryWait(absl::FunctionRef<cudaError_t()> wait) const;

  const CudaDeviceOptions options_;
  Clock& clock_;
  std::string name_;
  UniqueDeviceBytes memory_;
  UniqueStream time_base_stream_;  // used for the time base only

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;  // calls inside Run; guarded by mutex_, as all below
  absl::Status cancelled_;
  absl::Status lost_;
  bool staging_ = false;  // some host memory could not be locked
  ProgressMarks marks_;
  StreamProgress progress_;
  LockedPages pages_;
  Arena arena_;
  HostRanges ranges_;
  HostRanges staged_;  // of these, what is not locked
  std::shared_ptr<const TimeBase> time_base_;
  std::deque<Stream> streams_;  // deques: elements stay where they are
  std::deque<Event> events_;
};

// --- making and ending ---

absl::Status CudaDevice::Initialise() {
  ASSIGN_OR_RETURN(const CudaDeviceFacts facts, SelectCudaDevice(options_.index));
  if (!HasBf16TensorCores(facts) && options_.log != nullptr) {
    options_.log->Warning(
        StrCat("cuda:", facts.index, " (", facts.name, "): ", kNoBf16TensorCores));
  }
  RETURN_IF_ERROR(Reserve());
  cudaError_t error = Make(time_base_stream_);
  if (error == cudaSuccess) error = marks_.Create(time_base_stream_.get());
  if (error != cudaSuccess) {
    cudaGetLastError();
    return ToStatus(ToResult(error), StrCat("prepare ", name_));
  }
  return RenewTimeBase();
}

absl::Status CudaDevice::Reserve() {
  name_ = StrCat("CUDA device ", options_.index);
  size_t free = 0;
  size_t total = 0;
  cudaError_t error = cudaMemGetInfo(&free, &total);
  if (error == cudaSuccess && options_.capacity > 0_B) {
    error = options_.capacity.value() <= free ? Make(memory_, options_.capacity.value())
                                              : cudaErrorMemoryAllocation;
  }
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  if (error != cudaErrorMemoryAllocation) {
    return ToStatus(ToResult(error), StrCat("reserve memory of ", name_));
  }
  return WithFailureSource(
      absl::ResourceExhaustedError(StrCat(
          "cannot reserve ", options_.capacity.value(), " bytes (", ToString(options_.capacity),
          ") of ", name_, ": ", free, " bytes (", BytesText(free), ") of ", total,
          " are free; lower the device memory, the micro-batch or the chunk size of the plan, or "
          "end other programs that use the device")),
      FailureSource::kDevice);
}

absl::Status CudaDevice::RenewTimeBase() {
  std::shared_ptr<const TimeBase> time_base;
  const cudaError_t error = MakeTimeBase(clock_, time_base_stream_.get(), time_base);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return ToStatus(ToResult(error), StrCat("tell the time of ", name_));
  }
  time_base_ = std::move(time_base);
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() {
  Cancel(absl::CancelledError("the device is destroyed"));
  CHECK(arena_.used() == 0_B);
  Select();
}

// --- memory ---

absl::StatusOr<DeviceMemory> CudaDevice::Allocate(Bytes bytes) {
  if (bytes == 0_B) return DeviceMemory();
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(const uint64_t offset, arena_.Allocate(bytes));
  return Own(base() + offset, bytes.value());
}

void CudaDevice::Free(std::byte* data, uint64_t /*size*/) {
  const std::scoped_lock lock(mutex_);
  arena_.Free(static_cast<uint64_t>(data - base()));
}

Bytes CudaDevice::used() const {
  const std::scoped_lock lock(mutex_);
  return arena_.used();
}

Bytes CudaDevice::high_water() const {
  const std::scoped_lock lock(mutex_);
  return arena_.high_water();
}

absl::Status CudaDevice::RegisterHost(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(ranges_.Add(memory));
  absl::Status status = LockOrStage(memory);
  if (!status.ok()) CHECK(ranges_.Remove(memory).ok());
  return status;
}

absl::Status CudaDevice::RegisterPageable(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(ranges_.Add(memory));
  absl::Status status = Stage(memory);
  if (!status.ok()) CHECK(ranges_.Remove(memory).ok());
  return status;
}

absl::Status CudaDevice::Stage(std::span<std::byte> memory) {
  RETURN_IF_ERROR(lost_);
  if (const cudaError_t error = Select(); error != cudaSuccess) {
    return Failed(error, "select the device");
  }
  for (Stream& stream : streams_) RETURN_IF_ERROR(EnsureStagingBuffer(stream));
  staging_ = true;
  CHECK(staged_.Add(memory).ok());
  return absl::OkStatus();
}

absl::Status CudaDevice::LockOrStage(std::span<std::byte> memory) {
  RETURN_IF_ERROR(lost_);
  cudaError_t error = Select();
  if (error == cudaSuccess) error = pages_.Lock(memory);
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string what = StrCat("page-lock ", BytesText(memory.size()), " of host memory");
  const absl::Status failed = Failed(error, what);
  RETURN_IF_ERROR(Stage(memory));
  if (options_.log != nullptr) {
    options_.log->Warning(
        StrCat(failed.message(), "; its copies go through slabs of at most ",
               BytesText(StagingBuffer::kMostBytes),
               " a stream and are slower: raise the limit of locked memory (ulimit -l)"));
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::EnsureStagingBuffer(Stream& stream) {
  if (stream.staging != nullptr) return absl::OkStatus();
  auto buffer = std::make_unique<StagingBuffer>();
  const cudaError_t error = buffer->Create();
  if (error != cudaSuccess) {
    return Failed(error, StrCat("page-lock ", BytesText(StagingBuffer::kLeastBytes),
                                " for the copies of stream ", stream.name,
                                "; raise the limit of locked memory (ulimit -l)"));
  }
  stream.staging = std::move(buffer);
  return absl::OkStatus();
}

absl::Status CudaDevice::UnregisterHost(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  RETURN_IF_ERROR(ranges_.Remove(memory));
  if (staged_.Contains(memory.data(), memory.size())) return staged_.Remove(memory);
  cudaError_t error = Select();
  const cudaError_t unlocked = pages_.Unlock(memory);
  if (error == cudaSuccess) error = unlocked;
  // A lost device has nothing locked any more.
  if (error == cudaSuccess || !lost_.ok()) return absl::OkStatus();
  return Failed(error, StrCat("unlock ", BytesText(memory.size()), " of host memory"));
}

// --- streams and events ---

absl::StatusOr<StreamRef> CudaDevice::CreateStream(const StreamOptions& options) {
  RETURN_IF_ERROR(CheckStreamOptions(options));
  ASSIGN_OR_RETURN(std::unique_ptr<Workers> workers,
                   Workers::Create(options.name, options.threads));
  const std::scoped_lock lock(mutex_);
  const int index = static_cast<int>(streams_.size());
  if (index >= ProgressMarks::kMostStreams) {
    return absl::ResourceExhaustedError(StrCat(
        "stream ", options.name, ": a CUDA device has at most ", ProgressMarks::kMostStreams));
  }
  Stream made{.index = index, .name = options.name, .error = cancelled_};
  if (lost_.ok()) {
    cudaError_t error = Select();
    if (error == cudaSuccess) error = Make(made.stream);
    if (error != cudaSuccess) return Failed(error, StrCat("make stream ", options.name));
    if (staging_) RETURN_IF_ERROR(EnsureStagingBuffer(made));
  }
  made.context = {.workers = workers.get(),
                  .scratch = options.scratch,
                  .stream = made.stream.get(),
                  .device_context = options.device_context};
  if (options.scratch.size() >= kGemmWorkspaceBytes) {
    made.context.gemm_workspace = options.scratch.first(kGemmWorkspaceBytes);
    made.context.device_workspace = options.scratch.subspan(kGemmWorkspaceBytes);
  }
  made.workers = std::move(workers);
  streams_.push_back(std::move(made));
  progress_.AddStream(options.name);
  return StreamRef{index};
}

absl::StatusOr<EventRef> CudaDevice::CreateEvent() {
  const std::scoped_lock lock(mutex_);
  Event made;
  if (lost_.ok()) {
    cudaError_t error = Select();
    // Blocking: threads that wait leave the processor to the optimizer.
    if (error == cudaSuccess) error = Make(made.event, cudaEventBlockingSync);
    if (error != cudaSuccess) return Failed(error, "make an event");
  }
  events_.push_back(std::move(made));
  return EventRef{static_cast<int>(events_.size()) - 1};
}

// --- errors ---

void CudaDevice::ReadProgress() {
  if (!marks_.available()) return;
  for (const Stream& stream : streams_) progress_.SetDone(stream.index, marks_.Read(stream.index));
}

cudaError_t CudaDevice::LostDeviceError() const {
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < 2; ++i) {
    cudaGetLastError();
    error = cudaStreamQuery(time_base_stream_.get());
    if (error == cudaSuccess || error == cudaErrorNotReady) return cudaSuccess;
  }
  return error;
}

void CudaDevice::MarkLost(cudaError_t error) {
  if (!lost_.ok()) return;
  ReadProgress();
  const bool of_a_kernel = error == cudaErrorIllegalAddress ||
                           error == cudaErrorMisalignedAddress || error == cudaErrorLaunchFailure ||
                           error == cudaErrorLaunchTimeout;
  const std::string suspects = progress_.Suspects(of_a_kernel);
  lost_ = ToStatus(ToResult(error), StrCat("finish ", suspects.empty() ? "work" : suspects, " on ",
                                           name_, ", which is lost to this process"));
  if (cancelled_.ok()) cancelled_ = lost_;
  for (Stream& stream : streams_) {
    if (stream.error.ok()) stream.error = lost_;
  }
}

absl::Status CudaDevice::Failed(cudaError_t error, std::string_view what) {
  return FailedWork(ToStatus(ToResult(error), what));
}

absl::Status CudaDevice::FailedWork(absl::Status status) {
  if (const cudaError_t fatal = LostDeviceError(); fatal != cudaSuccess) {
    MarkLost(fatal);
    return lost_;
  }
  return status;
}

// --- work ---

absl::Status CudaDevice::Run(std::unique_lock<std::mutex>& lock, Stream& stream,
                             StreamProgress::Kind kind, const std::string& name, Work work) {
  if (stream.busy) {
    return absl::FailedPreconditionError(
        StrCat("stream ", stream.name, " is fed by two threads at once"));
  }
  if (!stream.error.ok()) return stream.error;
  stream.busy = true;
  ++running_;
  if (marks_.available()) progress_.SetDone(stream.index, marks_.Read(stream.index));
  const uint64_t number = progress_.AddWork(stream.index, kind, name);
  lock.unlock();
  cudaError_t error = Select();
  absl::Status status = error == cudaSuccess ? work(stream) : absl::OkStatus();
  if (error == cudaSuccess && status.ok()) {
    error = marks_.Write(stream.stream.get(), stream.index, static_cast<uint32_t>(number));
  }
  if (status.ok()) status = ToStatus(ToResult(error), StrCat("put '", name, "' on a stream"));
  lock.lock();
  if (!status.ok()) status = FailedWork(std::move(status));
  stream.busy = false;
  if (--running_ == 0) idle_.notify_all();
  // Cancel may have failed the stream meanwhile.
  if (stream.error.ok()) stream.error = std::move(status);
  return stream.error;
}

cudaError_t CudaDevice::CopyPieces(cudaStream_t stream, std::byte* device, std::byte* host,
                                   std::span<const uint64_t> pieces, LinkDirection direction) {
  for (const uint64_t bytes : pieces) {
    const bool to_device = direction == LinkDirection::kToDevice;
    const cudaError_t error =
        cudaMemcpyAsync(to_device ? device : host, to_device ? host : device, bytes,
                        to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream);
    if (error != cudaSuccess) return error;
    device += bytes;
    host += bytes;
  }
  return cudaSuccess;
}

absl::Status CudaDevice::Copy(StreamRef stream, std::byte* device, std::byte* host, uint64_t bytes,
                              LinkDirection direction) {
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  RETURN_IF_ERROR(CheckCopyRanges(arena_, base(), ranges_, device, host, Bytes(bytes)));
  const bool to_device = direction == LinkDirection::kToDevice;
  const bool staged = bytes > 0 && staged_.Contains(host, bytes);
  std::vector<uint64_t> pieces;
  for (uint64_t done = 0; done < bytes && !staged; done += pieces.back()) {
    pieces.push_back(std::min(bytes - done, pages_.BytesLeftInPiece(host + done)));
  }
  const std::string name =
      StrCat("copy of ", bytes, " bytes to the ", to_device ? "device" : "host");
  return Run(lock, *found, StreamProgress::Kind::kCopy, name, [&](Stream& on) {
    cudaError_t error = cudaSuccess;
    if (!staged) {
      error = CopyPieces(on.stream.get(), device, host, pieces, direction);
    } else if (to_device) {
      error = on.staging->CopyToDevice(on.stream.get(), device, host, bytes, *on.workers);
    } else {
      error = on.staging->CopyToHost(on.stream.get(), host, device, bytes, *on.workers);
    }
    return ToStatus(ToResult(error), StrCat("put a ", name, " on stream ", on.name));
  });
}

absl::Status CudaDevice::CopyToDevice(StreamRef stream, std::byte* device_target,
                                      const std::byte* host_source, Bytes bytes) {
  return Copy(stream, device_target, const_cast<std::byte*>(host_source), bytes.value(),
              LinkDirection::kToDevice);
}

absl::Status CudaDevice::CopyToHost(StreamRef stream, std::byte* host_target,
                                    const std::byte* device_source, Bytes bytes) {
  return Copy(stream, const_cast<std::byte*>(device_source), host_target, bytes.value(),
              LinkDirection::kToHost);
}

absl::Status CudaDevice::Launch(StreamRef stream, const LaunchOptions& options, KernelCall kernel) {
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  if (kernel == nullptr) return absl::InvalidArgumentError(StrCat(options.name, ": no kernel"));
  return Run(lock, *found, StreamProgress::Kind::kKernel, options.name,
             [&](Stream& on) { return kernel(on.context); });
}

absl::Status CudaDevice::Record(StreamRef stream, EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * from, FindStream(streams_, stream));
  ASSIGN_OR_RETURN(Event * mark, FindEvent(events_, event));
  if (lost_.ok()) {
    // A failed stream may still have earlier work, and the event must pass after that.
    cudaError_t error = Select();
    if (error == cudaSuccess && IsOld(*time_base_, clock_.Now())) {
      // On failure the old time base stays in use; it is only less exact.
      RenewTimeBase().IgnoreError();
    }
    if (error == cudaSuccess) error = cudaEventRecord(mark->event.get(), from->stream.get());
    if (error != cudaSuccess) {
      const absl::Status failed = Failed(error, StrCat("mark the end of stream ", from->name));
      if (from->error.ok()) from->error = failed;
      // The event was not recorded, so wait for the stream here: the event then counts as passed.
      RetryWait([from] { return cudaStreamSynchronize(from->stream.get()); });
    }
  }
  mark->recorded = true;
  ++mark->recording;
  mark->place = progress_.End(from->index);
  mark->error = from->error;
  mark->time_base = time_base_;
  return absl::OkStatus();
}

absl::Status CudaDevice::Wait(StreamRef stream, EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(Stream * found, FindStream(streams_, stream));
  ASSIGN_OR_RETURN(const Event* mark, FindRecorded(events_, event, found->name));
  if (lost_.ok() && found->error.ok()) {
    cudaError_t error = Select();
    if (error == cudaSuccess) error = cudaStreamWaitEvent(found->stream.get(), mark->event.get());
    if (error == cudaSuccess) {
      progress_.AddWait(found->index, mark->place);
    } else {
      found->error = Failed(error, StrCat("let stream ", found->name, " wait"));
    }
  }
  if (found->error.ok()) found->error = mark->error;
  return found->error;
}

absl::Status CudaDevice::Await(EventRef event) {
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Event * found, FindRecorded(events_, event, "Await"));
  const Place place = found->place;
  const uint64_t recording = found->recording;
  const cudaEvent_t mark = found->event.get();
  absl::Status spoiled = found->error;
  if (lost_.ok()) {
    lock.unlock();
    const cudaError_t error = RetryWait([mark] { return cudaEventSynchronize(mark); });
    lock.lock();
    if (error == cudaSuccess) {
      progress_.SetDone(place);
      return spoiled;
    }
    const absl::Status failed =
        Failed(error, StrCat("wait for stream ", streams_[place.stream].name));
    if (lost_.ok()) {
      // Other callers get the same error.
      if (spoiled.ok() && found->recording == recording) found->error = failed;
      return spoiled.ok() ? failed : spoiled;
    }
  }
  ReadProgress();
  return spoiled.ok() && !progress_.IsDone(place) ? lost_ : spoiled;
}

absl::StatusOr<Nanoseconds> CudaDevice::TimeOf(EventRef event) {
  const std::scoped_lock lock(mutex_);
  ASSIGN_OR_RETURN(const Event* mark, FindRecorded(events_, event, "TimeOf"));
  RETURN_IF_ERROR(mark->error);
  RETURN_IF_ERROR(lost_);
  cudaError_t error = Select();
  if (error == cudaSuccess) error = cudaEventQuery(mark->event.get());
  Nanoseconds time{0};
  if (error == cudaSuccess) error = TimeOfEvent(*mark->time_base, mark->event.get(), time);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return absl::FailedPreconditionError(StrCat("TimeOf: event ", event.index, " is yet to pass"));
  }
  if (error != cudaSuccess) return Failed(error, StrCat("tell the time of event ", event.index));
  return time;
}

cudaError_t CudaDevice::RetryWait(absl::FunctionRef<cudaError_t()> wait) const {
  const cudaError_t first_error = Select();
  cudaError_t error = first_error == cudaSuccess ? wait() : first_error;
  if (error == cudaSuccess) return cudaSuccess;
  const cudaError_t reported = error;
  for (int i = 1; i < kMostTries && error != cudaSuccess && LostDeviceError() == cudaSuccess; ++i) {
    error = Select();
    if (error == cudaSuccess) error = wait();
  }
  return reported;
}

void CudaDevice::Cancel(absl::Status reason) {
  CHECK(!reason.ok());
  std::vector<cudaStream_t> streams;
  {
    std::unique_lock lock(mutex_);
    if (cancelled_.ok()) cancelled_ = reason;
    for (Stream& stream : streams_) {
      if (stream.error.ok()) stream.error = reason;
    }
    idle_.wait(lock, [this] { return running_ == 0; });
    for (const Stream& stream : streams_) {
      if (stream.stream != nullptr) streams.push_back(stream.stream.get());
    }
  }
  for (cudaStream_t stream : streams) {
    if (RetryWait([stream] { return cudaStreamSynchronize(stream); }) == cudaSuccess) continue;
    const std::scoped_lock lock(mutex_);
    if (const cudaError_t fatal = LostDeviceError(); fatal != cudaSuccess) MarkLost(fatal);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& options) {
  if (options.clock == nullptr) return absl::InvalidArgumentError("a CUDA device needs a clock");
  auto device = std::make_unique<CudaDevice>(options);
  RETURN_IF_ERROR(device->Initialise());
  return device;
}

}  // namespace horizon
