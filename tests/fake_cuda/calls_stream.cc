// Streams, events and launches.
#include <memory>
#include <string>
#include <utility>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/include/fake_cuda_launch.h"
#include "tests/fake_cuda/runtime.h"
#include "tests/fake_cuda/thread_block.h"

using fake_cuda::Call;
using fake_cuda::CallKind;
using fake_cuda::Fault;
using fake_cuda::Recording;
using fake_cuda::Runtime;
using fake_cuda::Work;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Call call;
  if (call.refused()) return call.Refusal();
  if ((flags & ~cudaStreamNonBlocking) != 0) return call.Return(cudaErrorInvalidValue);
  if (flags != cudaStreamNonBlocking) Fault("a stream that waits for the default stream");
  auto made = std::make_unique<CUstream_st>();
  made->number = static_cast<int>(call.runtime().streams.size()) + 1;
  *stream = made.get();
  call.runtime().streams.push_back(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call(CallKind::kReleasing);
  CUstream_st* found = fake_cuda::FindStream(call.runtime(), stream);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  found->destroyed = true;
  return call.Return(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call;
  if (call.refused()) return call.Refusal();
  CUstream_st* found = fake_cuda::FindStream(call.runtime(), stream);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  fake_cuda::RunStream(call.runtime(), *found);
  return call.Return(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (runtime.random.Below(4) == 0) fake_cuda::RunSomething(runtime);
  return call.Return(found->queue.empty() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaDeviceSynchronize() {
  const Call call;
  if (call.refused()) return call.Refusal();
  fake_cuda::RunAll(call.runtime());
  return call.Return(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  CUevent_st* awaited = fake_cuda::FindEvent(runtime, event);
  if (found == nullptr || awaited == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (flags != 0) return call.Return(cudaErrorInvalidValue);
  // An event never recorded holds nobody up.
  if (awaited->last != nullptr) {
    Work wait{.what = "a wait for event " + std::to_string(awaited->number),
              .waits = awaited->last};
    fake_cuda::Push(runtime, *found, std::move(wait));
  }
  return call.Return(cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Call call;
  if (call.refused()) return call.Refusal();
  if ((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) {
    return call.Return(cudaErrorInvalidValue);
  }
  auto made = std::make_unique<CUevent_st>();
  made->number = static_cast<int>(call.runtime().events.size()) + 1;
  made->flags = flags;
  *event = made.get();
  call.runtime().events.push_back(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call(CallKind::kReleasing);
  CUevent_st* found = fake_cuda::FindEvent(call.runtime(), event);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  found->destroyed = true;
  return call.Return(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  CUevent_st* recorded = fake_cuda::FindEvent(runtime, event);
  if (found == nullptr || recorded == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  recorded->last = std::make_shared<Recording>();
  Work record{.what = "the recording of event " + std::to_string(recorded->number),
              .records = recorded->last};
  fake_cuda::Push(runtime, *found, std::move(record));
  return call.Return(cudaSuccess);
}

// Now and then some work gets done, so that who polls comes to an end.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call;
  if (call.refused()) return call.Refusal();
  Runtime& runtime = call.runtime();
  CUevent_st* found = fake_cuda::FindEvent(runtime, event);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (runtime.random.Below(4) == 0) fake_cuda::RunSomething(runtime);
  const bool done = found->last == nullptr || found->last->done;
  return call.Return(done ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call;
  if (call.refused()) return call.Refusal();
  CUevent_st* found = fake_cuda::FindEvent(call.runtime(), event);
  if (found == nullptr) return call.Return(cudaErrorInvalidResourceHandle);
  if (found->last != nullptr) fake_cuda::RunUntil(call.runtime(), *found->last);
  return call.Return(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const Call call;
  if (call.refused()) return call.Refusal();
  CUevent_st* first = fake_cuda::FindEvent(call.runtime(), begin);
  CUevent_st* second = fake_cuda::FindEvent(call.runtime(), end);
  if (first == nullptr || second == nullptr || first->last == nullptr || second->last == nullptr ||
      ((first->flags | second->flags) & cudaEventDisableTiming) != 0) {
    return call.Return(cudaErrorInvalidResourceHandle);
  }
  if (!first->last->done || !second->last->done) return call.Return(cudaErrorNotReady);
  *milliseconds = static_cast<float>(second->last->milliseconds - first->last->milliseconds);
  return call.Return(cudaSuccess);
}
