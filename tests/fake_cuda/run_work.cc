// How the queues of the streams are worked off: as late and as reordered as events allow.
#include <algorithm>
#include <utility>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/runtime.h"

namespace fake_cuda {
namespace {

bool Overlap(const HostUse& a, const HostUse& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

// What a piece of work wrote to the host, pending ones may rightly see.
void Refresh(Runtime& runtime, const Work& done) {
  for (const HostUse& written : done.host) {
    if (!written.is_target) continue;
    for (const auto& stream : runtime.streams) {
      for (Work& pending : stream->queue) {
        for (HostUse& use : pending.host) {
          if (Overlap(use, written)) use.hash = HashBytes(use.begin, use.bytes);
        }
      }
    }
  }
}

void CheckHost(const Runtime& runtime, const Work& work) {
  for (const HostUse& use : work.host) {
    if (!runtime.host.Contains(use.begin, use.bytes)) {
      Fault(work.what + ": its host memory is no longer page-locked");
    } else if (HashBytes(use.begin, use.bytes) != use.hash) {
      Fault(work.what + ": the host changed its " + (use.is_target ? "target" : "source") +
            " before the copy was done");
    }
  }
}

void LoseContext(Runtime& runtime, cudaError_t error) {
  runtime.has_failed = true;
  runtime.lost = error;
  for (const auto& stream : runtime.streams) stream->queue.clear();
}

bool CanRun(const CUstream_st& stream) {
  if (stream.queue.empty()) return false;
  const Work& head = stream.queue.front();
  return head.waits == nullptr || head.waits->done;
}

// The head of the queue, which can run. Device memory is open.
void RunHead(Runtime& runtime, CUstream_st& stream) {
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  double begin = std::max(stream.milliseconds, work.earliest);
  if (work.waits != nullptr) begin = std::max(begin, work.waits->milliseconds);
  stream.milliseconds = begin + work.milliseconds;
  if (work.records != nullptr) {
    work.records->done = true;
    work.records->milliseconds = stream.milliseconds;
  }
  if (work.run == nullptr) return;
  Failure& failure = runtime.failing_work;
  if (failure.at > 0 && --failure.at == 0) return LoseContext(runtime, failure.error);
  ++runtime.work;
  CheckHost(runtime, work);
  work.run();
  runtime.heap.CheckEnds(work.what);
  Refresh(runtime, work);
}

std::vector<CUstream_st*> Runnable(const Runtime& runtime) {
  std::vector<CUstream_st*> streams;
  for (const auto& stream : runtime.streams) {
    if (CanRun(*stream)) streams.push_back(stream.get());
  }
  return streams;
}

CUstream_st* StreamOf(const Runtime& runtime, const Recording& recording) {
  for (const auto& stream : runtime.streams) {
    for (const Work& work : stream->queue) {
      if (work.records.get() == &recording) return stream.get();
    }
  }
  return nullptr;
}

// Nothing but what the recording needs. Waits name recordings that stood in a queue before them, so
// the way back ends.
void RunNeeded(Runtime& runtime, const Recording& recording) {
  while (!recording.done && runtime.lost == cudaSuccess) {
    CUstream_st* stream = StreamOf(runtime, recording);
    while (!CanRun(*stream)) stream = StreamOf(runtime, *stream->queue.front().waits);
    RunHead(runtime, *stream);
  }
}

// One of the streams before all others, as far as it gets; then what is needed.
void RunOtherFirst(Runtime& runtime, const Recording& recording) {
  CUstream_st* favourite = runtime.streams[runtime.random.Below(runtime.streams.size())].get();
  while (!recording.done && runtime.lost == cudaSuccess && CanRun(*favourite)) {
    RunHead(runtime, *favourite);
  }
  RunNeeded(runtime, recording);
}

// One piece of any stream; false when there is none.
bool RunAny(Runtime& runtime) {
  const std::vector<CUstream_st*> streams = Runnable(runtime);
  if (streams.empty()) return false;
  RunHead(runtime, *streams[runtime.random.Below(streams.size())]);
  return true;
}

void RunAnyOrder(Runtime& runtime, const Recording& recording) {
  while (!recording.done && runtime.lost == cudaSuccess) RunAny(runtime);
}

}  // namespace

void Push(Runtime& runtime, CUstream_st& stream, Work work) {
  work.earliest = runtime.host_milliseconds;
  for (HostUse& use : work.host) use.hash = HashBytes(use.begin, use.bytes);
  stream.queue.push_back(std::move(work));
}

void RunSomething(Runtime& runtime) {
  if (runtime.lost != cudaSuccess) return;
  const OpenHeap open(runtime.heap);
  RunAny(runtime);
}

void RunUntil(Runtime& runtime, const Recording& recording) {
  if (recording.done || runtime.lost != cudaSuccess) return;
  const OpenHeap open(runtime.heap);
  switch (runtime.random.Below(4)) {
    case 0:
      RunAnyOrder(runtime, recording);
      break;
    case 1:
      RunOtherFirst(runtime, recording);
      break;
    default:
      RunNeeded(runtime, recording);
      break;
  }
  runtime.host_milliseconds = std::max(runtime.host_milliseconds, recording.milliseconds);
}

void RunStream(Runtime& runtime, CUstream_st& stream) {
  if (stream.queue.empty()) return;
  const auto end = std::make_shared<Recording>();
  Work mark{.what = "the end of the stream", .records = end};
  Push(runtime, stream, std::move(mark));
  RunUntil(runtime, *end);
}

void RunAll(Runtime& runtime) {
  const OpenHeap open(runtime.heap);
  while (runtime.lost == cudaSuccess && RunAny(runtime)) {
  }
  for (const auto& stream : runtime.streams) {
    runtime.host_milliseconds = std::max(runtime.host_milliseconds, stream->milliseconds);
  }
}

}  // namespace fake_cuda
