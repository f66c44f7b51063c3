// What the runtime hands out of the driver: the write of a number in stream order.
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/runtime.h"

using fake_cuda::Call;
using fake_cuda::Fault;
using fake_cuda::Runtime;
using fake_cuda::Work;

namespace {

// cuStreamWriteValue32, whose errors have the runtime's numbers. A piece of work like others: it
// may be made to fail.
int WriteValue(CUstream_st* stream, unsigned long long address, uint32_t value, unsigned flags) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (flags != 0 || address % sizeof(uint32_t) != 0) return call.Return(cudaErrorInvalidValue);
  auto* target = reinterpret_cast<uint32_t*>(address);
  Work work{.what = "a write of one number on stream " + std::to_string(found->number)};
  const std::string what = work.what;
  work.run = [&runtime, what, target, value] {
    if (!runtime.host.Contains(target, sizeof(*target))) {
      return Fault(what + ": its target is not page-locked");
    }
    // The host may watch it.
    std::atomic_ref<uint32_t>(*target).store(value, std::memory_order_release);
  };
  fake_cuda::Push(runtime, *found, std::move(work));
  return call.Return(cudaSuccess);
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned /*version*/, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
  const Call call;
  if (call.refused()) return call.Refusal();
  if (flags != cudaEnableDefault) return call.Return(cudaErrorInvalidValue);
  const bool known =
      call.runtime().options.writes_values && std::strcmp(symbol, "cuStreamWriteValue32") == 0;
  *function = known ? reinterpret_cast<void*>(&WriteValue) : nullptr;
  *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
