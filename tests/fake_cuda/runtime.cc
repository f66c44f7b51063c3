#include "tests/fake_cuda/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/fault.h"

namespace fake_cuda {
namespace {

// Never destroyed: threads of the code under test may outlive main's statics.
std::unique_ptr<Runtime>& Holder() {
  static auto* holder = new std::unique_ptr<Runtime>;
  return *holder;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

// Counts down to the failure that was asked for; true when it is due.
bool IsDue(Failure& failure) { return failure.at > 0 && --failure.at == 0; }

}  // namespace

std::mutex& RuntimeMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

Runtime& TheRuntime() {
  std::unique_ptr<Runtime>& runtime = Holder();
  if (runtime == nullptr) runtime = std::make_unique<Runtime>(Options{});
  return *runtime;
}

cudaError_t& LastError() { return last_error; }
int& CurrentDevice() { return current_device; }

Call::Call(CallKind kind) : lock_(RuntimeMutex()), runtime_(TheRuntime()) {
  ++runtime_.calls;
  refusal_ = runtime_.options.driver != cudaSuccess ? runtime_.options.driver : runtime_.lost;
  if (IsDue(runtime_.failing_call)) {
    runtime_.has_failed = true;
    if (refusal_ == cudaSuccess) refusal_ = runtime_.failing_call.error;
    if (runtime_.failing_call.persistence == Persistence::kSticky) runtime_.lost = refusal_;
  }
}

cudaError_t Call::Return(cudaError_t error) const {
  if (error == cudaSuccess && runtime_.lost != cudaSuccess) error = runtime_.lost;
  if (error == cudaSuccess) error = refusal_;
  if (error != cudaSuccess) last_error = error;
  return error;
}

CUstream_st* FindStream(const Runtime& runtime, CUstream_st* stream) {
  if (stream == nullptr) {
    Fault("a call on the default stream");
    return nullptr;
  }
  const auto found = std::find_if(runtime.streams.begin(), runtime.streams.end(),
                                  [&](const auto& known) { return known.get() == stream; });
  if (found == runtime.streams.end()) return nullptr;
  if (!stream->destroyed) return stream;
  Fault("a call on stream " + std::to_string(stream->number) + ", which was destroyed");
  return nullptr;
}

CUevent_st* FindEvent(const Runtime& runtime, CUevent_st* event) {
  const auto found = std::find_if(runtime.events.begin(), runtime.events.end(),
                                  [&](const auto& known) { return known.get() == event; });
  if (found == runtime.events.end()) return nullptr;
  if (!event->destroyed) return event;
  Fault("a call with event " + std::to_string(event->number) + ", which was destroyed");
  return nullptr;
}

void Reset(const Options& options) {
  const std::lock_guard lock(RuntimeMutex());
  if (Holder() != nullptr) {
    for (const auto& [begin, range] : Holder()->host.ranges()) {
      if (range.allocated) std::free(const_cast<std::byte*>(begin));
    }
  }
  Holder() = nullptr;
  Holder() = std::make_unique<Runtime>(options);
  last_error = cudaSuccess;
  current_device = 0;
}

void FailCall(uint64_t call, cudaError_t error, Persistence persistence) {
  const std::lock_guard lock(RuntimeMutex());
  TheRuntime().failing_call = {call, error, persistence};
  TheRuntime().has_failed = false;
}

void FailWork(uint64_t piece, cudaError_t error) {
  const std::lock_guard lock(RuntimeMutex());
  TheRuntime().failing_work = {piece, error, Persistence::kSticky};
  TheRuntime().has_failed = false;
}

bool HasFailed() {
  const std::lock_guard lock(RuntimeMutex());
  return TheRuntime().has_failed;
}

uint64_t CallCount() {
  const std::lock_guard lock(RuntimeMutex());
  return TheRuntime().calls;
}

uint64_t WorkCount() {
  const std::lock_guard lock(RuntimeMutex());
  return TheRuntime().work;
}

std::vector<std::string> Leaks() {
  const std::lock_guard lock(RuntimeMutex());
  const Runtime& runtime = TheRuntime();
  std::vector<std::string> leaks;
  for (const uint64_t bytes : runtime.heap.LiveSizes()) {
    leaks.push_back(std::to_string(bytes) + " bytes of device memory");
  }
  for (const auto& [begin, range] : runtime.host.ranges()) {
    leaks.push_back(std::to_string(range.bytes) + " bytes of page-locked memory");
  }
  for (const auto& stream : runtime.streams) {
    if (!stream->destroyed) leaks.push_back("stream " + std::to_string(stream->number));
  }
  for (const auto& event : runtime.events) {
    if (!event->destroyed) leaks.push_back("event " + std::to_string(event->number));
  }
  for (const auto& [handle, name] : runtime.handles) leaks.push_back(name);
  return leaks;
}

void WriteDevice(void* device, const void* host, uint64_t bytes) {
  const std::lock_guard lock(RuntimeMutex());
  Runtime& runtime = TheRuntime();
  RunAll(runtime);
  if (!runtime.heap.Contains(device, bytes)) return Fault("WriteDevice outside device memory");
  const OpenHeap open(runtime.heap);
  std::memcpy(device, host, bytes);
}

void ReadDevice(void* host, const void* device, uint64_t bytes) {
  const std::lock_guard lock(RuntimeMutex());
  Runtime& runtime = TheRuntime();
  RunAll(runtime);
  if (!runtime.heap.Contains(device, bytes)) return Fault("ReadDevice outside device memory");
  const OpenHeap open(runtime.heap);
  std::memcpy(host, device, bytes);
}

}  // namespace fake_cuda
