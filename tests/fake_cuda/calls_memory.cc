// Memory of the device and page-locked memory of the host.
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/runtime.h"

using fake_cuda::Call;
using fake_cuda::CallKind;
using fake_cuda::Fault;
using fake_cuda::HostUse;
using fake_cuda::Runtime;
using fake_cuda::Work;

namespace {

const fake_cuda::Device& Played(const Runtime& runtime) {
  return runtime.options.devices[static_cast<size_t>(fake_cuda::CurrentDevice())];
}

uint64_t FreeBytes(const Runtime& runtime) {
  const uint64_t taken = runtime.heap.used() + Played(runtime).memory_of_others_bytes;
  return taken >= Played(runtime).memory_bytes ? 0 : Played(runtime).memory_bytes - taken;
}

cudaError_t Lock(Runtime& runtime, void* pointer, uint64_t bytes, bool allocated) {
  const fake_cuda::Options& options = runtime.options;
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  if (bytes > options.most_locked_bytes_a_call ||
      bytes > options.most_locked_bytes - runtime.host.total_bytes() ||
      runtime.host.ranges().size() >= options.most_registrations) {
    return cudaErrorMemoryAllocation;
  }
  if (runtime.heap.IsDevice(pointer)) return cudaErrorInvalidValue;
  return runtime.host.Add(pointer, bytes, allocated) ? cudaSuccess
                                                     : cudaErrorHostMemoryAlreadyRegistered;
}

// Work that will still touch the range is a fault: nothing stops it from running.
void CheckNotPending(const Runtime& runtime, const void* begin, uint64_t bytes) {
  const auto* first = static_cast<const std::byte*>(begin);
  for (const auto& stream : runtime.streams) {
    for (const Work& work : stream->queue) {
      for (const HostUse& use : work.host) {
        if (use.begin < first + bytes && first < use.begin + use.bytes) {
          Fault("page-locked memory is given back while " + work.what + " is pending");
          return;
        }
      }
    }
  }
}

}  // namespace

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Call call;
  if (call.refused()) return call.Refusal();
  *free = FreeBytes(call.runtime());
  *total = Played(call.runtime()).memory_bytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  const Call call;
  if (call.refused()) return call.Refusal();
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (bytes > FreeBytes(call.runtime())) return call.Return(cudaErrorMemoryAllocation);
  *pointer = call.runtime().heap.Allocate(bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  const Call call(CallKind::kReleasing);
  Runtime& runtime = call.runtime();
  if (runtime.options.driver != cudaSuccess) return call.Refusal();
  if (pointer == nullptr) return call.Return(cudaSuccess);
  fake_cuda::RunAll(runtime);
  if (!runtime.heap.Free(pointer)) {
    Fault("cudaFree of " + runtime.heap.Describe(pointer));
    return call.Return(cudaErrorInvalidValue);
  }
  return call.Return(cudaSuccess);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  const Call call;
  if (call.refused()) return call.Refusal();
  constexpr unsigned kKnown =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
  if ((flags & ~kKnown) != 0) return call.Return(cudaErrorInvalidValue);
  if (!call.runtime().options.registers) return call.Return(cudaErrorNotSupported);
  return call.Return(Lock(call.runtime(), pointer, bytes, false));
}

cudaError_t cudaHostUnregister(void* pointer) {
  const Call call(CallKind::kReleasing);
  Runtime& runtime = call.runtime();
  const uint64_t bytes = runtime.host.Find(pointer);
  if (bytes == 0 || runtime.host.IsAllocated(pointer)) {
    return call.Return(cudaErrorHostMemoryNotRegistered);
  }
  if (runtime.lost == cudaSuccess) CheckNotPending(runtime, pointer, bytes);
  runtime.host.Remove(pointer);
  return call.Return(cudaSuccess);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned /*flags*/) {
  const Call call;
  if (call.refused()) return call.Refusal();
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  constexpr size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  const cudaError_t error =
      memory == nullptr ? cudaErrorMemoryAllocation : Lock(call.runtime(), memory, bytes, true);
  if (error != cudaSuccess) {
    std::free(memory);
    return call.Return(error);
  }
  std::memset(memory, 0xFF, bytes);
  *pointer = memory;
  return cudaSuccess;
}

// Waits for all work, as cudaFree does.
cudaError_t cudaFreeHost(void* pointer) {
  const Call call(CallKind::kReleasing);
  Runtime& runtime = call.runtime();
  if (pointer == nullptr) return call.Return(cudaSuccess);
  if (!runtime.host.IsAllocated(pointer)) return call.Return(cudaErrorInvalidValue);
  fake_cuda::RunAll(runtime);
  runtime.host.Remove(pointer);
  std::free(pointer);
  return call.Return(cudaSuccess);
}
