// Copies and memsets.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/runtime.h"

using fake_cuda::Call;
using fake_cuda::Fault;
using fake_cuda::HostUse;
using fake_cuda::Runtime;
using fake_cuda::Work;

namespace {

// The fake's clock: a start of 5 us and 25 GB/s. Only its order means anything.
double CopyMilliseconds(uint64_t bytes) { return 0.005 + static_cast<double>(bytes) / 25e6; }

struct Sides {
  bool from_device = false;
  bool to_device = false;
};

// False for a kind that is none, or that cudaMemcpyDefault cannot be made out.
bool Resolve(const Runtime& runtime, cudaMemcpyKind kind, const void* to, const void* from,
             Sides& sides) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      sides = {false, false};
      return true;
    case cudaMemcpyHostToDevice:
      sides = {false, true};
      return true;
    case cudaMemcpyDeviceToHost:
      sides = {true, false};
      return true;
    case cudaMemcpyDeviceToDevice:
      sides = {true, true};
      return true;
    case cudaMemcpyDefault:
      sides = {runtime.heap.IsDevice(from), runtime.heap.IsDevice(to)};
      return true;
  }
  return false;
}

std::string NameOf(const Sides& sides, uint64_t bytes) {
  return "a copy of " + std::to_string(bytes) + " bytes from the " +
         (sides.from_device ? "device" : "host") + " to the " +
         (sides.to_device ? "device" : "host");
}

// A side on the device lies within one allocation, one on the host is no device memory.
bool CheckSide(const Runtime& runtime, const std::string& what, const void* pointer, uint64_t bytes,
               bool on_device) {
  if (on_device && !runtime.heap.Contains(pointer, bytes)) {
    Fault(what + ": its device side is " + runtime.heap.Describe(pointer) +
          " and does not lie within one allocation");
    return false;
  }
  if (!on_device && runtime.heap.IsDevice(pointer)) {
    Fault(what + ": its host side is device memory");
    return false;
  }
  return true;
}

bool IsPending(const Runtime& runtime, const std::byte* begin, uint64_t bytes) {
  for (const auto& stream : runtime.streams) {
    for (const Work& work : stream->queue) {
      for (const HostUse& use : work.host) {
        if (use.begin < begin + bytes && begin < use.begin + use.bytes) return true;
      }
    }
  }
  return false;
}

// Until the copy is done its target holds nothing of use: NaN, so that who reads too early notices.
// Not where other work may still use the bytes, nor for single numbers, which a host may watch.
void Scribble(const Runtime& runtime, std::byte* target, uint64_t bytes) {
  constexpr uint64_t kWatched = 8;
  if (bytes > kWatched && !IsPending(runtime, target, bytes)) std::memset(target, 0xFF, bytes);
}

bool AddHostSide(const Runtime& runtime, Work& work, void* pointer, uint64_t bytes,
                 bool is_target) {
  auto* begin = static_cast<std::byte*>(pointer);
  if (!runtime.host.Contains(begin, bytes)) {
    Fault(work.what + ": its host side is not within one page-locked range, so that it would " +
          "not be asynchronous");
    return false;
  }
  if (is_target) Scribble(runtime, begin, bytes);
  work.host.push_back({.begin = begin, .bytes = bytes, .is_target = is_target});
  return true;
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (bytes == 0) return call.Return(cudaSuccess);
  Sides sides;
  if (!Resolve(runtime, kind, to, from, sides)) {
    return call.Return(cudaErrorInvalidMemcpyDirection);
  }
  Work work{.what = NameOf(sides, bytes) + " on stream " + std::to_string(found->number),
            .milliseconds = CopyMilliseconds(bytes)};
  if (!CheckSide(runtime, work.what, from, bytes, sides.from_device) ||
      !CheckSide(runtime, work.what, to, bytes, sides.to_device)) {
    return call.Return(cudaErrorInvalidValue);
  }
  if ((!sides.from_device && !AddHostSide(runtime, work, const_cast<void*>(from), bytes, false)) ||
      (!sides.to_device && !AddHostSide(runtime, work, to, bytes, true))) {
    return call.Return(cudaErrorInvalidValue);
  }
  const std::string what = work.what;
  work.run = [&runtime, what, to, from, bytes, sides] {
    if (CheckSide(runtime, what, from, bytes, sides.from_device) &&
        CheckSide(runtime, what, to, bytes, sides.to_device)) {
      std::memmove(to, from, bytes);
    }
  };
  fake_cuda::Push(runtime, *found, std::move(work));
  return call.Return(cudaSuccess);
}

// Waits; for host memory of any kind. Streams of ours are not ordered with it
// (cudaStreamNonBlocking is all there is).
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  Sides sides;
  if (!Resolve(runtime, kind, to, from, sides)) {
    return call.Return(cudaErrorInvalidMemcpyDirection);
  }
  if (bytes == 0) return call.Return(cudaSuccess);
  const std::string what = NameOf(sides, bytes);
  if (!CheckSide(runtime, what, from, bytes, sides.from_device) ||
      !CheckSide(runtime, what, to, bytes, sides.to_device)) {
    return call.Return(cudaErrorInvalidValue);
  }
  const fake_cuda::OpenHeap open(runtime.heap);
  std::memmove(to, from, bytes);
  return call.Return(cudaSuccess);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (bytes == 0) return call.Return(cudaSuccess);
  const std::string what =
      "a memset of " + std::to_string(bytes) + " bytes on stream " + std::to_string(found->number);
  if (!CheckSide(runtime, what, to, bytes, true)) return call.Return(cudaErrorInvalidValue);
  Work work{.what = what, .milliseconds = CopyMilliseconds(bytes)};
  work.run = [&runtime, what, to, value, bytes] {
    if (CheckSide(runtime, what, to, bytes, true)) std::memset(to, value, bytes);
  };
  fake_cuda::Push(runtime, *found, std::move(work));
  return call.Return(cudaSuccess);
}
