#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_cuda/device_heap.h"
#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/fake_cuda/host_ranges.h"
#include "tests/fake_cuda/random.h"
#include "tests/fake_cuda/work.h"

namespace fake_cuda {

// A failure that a test has requested (FailCall, FailWork).
struct Failure {
  uint64_t at = 0;  // counts down to the call or piece that fails; 0: no failure requested
  cudaError_t error = cudaSuccess;
  Persistence persistence = Persistence::kOnce;
};

// The whole state of the fake. The process has one. Whoever reads or writes it holds
// RuntimeMutex(); kernels run under that lock, on the thread whose call waits for them.
struct Runtime {
  explicit Runtime(const Options& chosen) : options(chosen), random(chosen.seed) {}

  Options options;
  Random random;
  DeviceHeap heap;
  HostRanges host;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  // The dynamic shared memory that kernels have opted in to, by device and kernel.
  std::map<std::pair<int, const void*>, int> shared_limits;
  std::map<const void*, std::string> handles;  // live handles of cublasLt and what they are
  // Pairs of hashes: what an algorithm was chosen for, and what cublasLtMatmulAlgoCheck allowed it
  // for.
  std::set<std::pair<uint64_t, uint64_t>> checked_algorithms;
  double host_milliseconds = 0;  // the host's time on the fake's clock

  cudaError_t lost = cudaSuccess;  // every call returns it from now on
  Failure failing_call;
  Failure failing_work;
  bool has_failed = false;
  uint64_t calls = 0;
  uint64_t work = 0;
};

std::mutex& RuntimeMutex();
// The state, created at the first use with the default options.
Runtime& TheRuntime();

enum class CallKind { kOrdinary, kReleasing };

// The scope of one call of the API. It takes the lock, counts the call and decides whether it
// fails. An ordinary call that is refused only returns Refusal(); a call that releases something
// does its work all the same.
class Call {
 public:
  explicit Call(CallKind kind = CallKind::kOrdinary);
  bool refused() const { return refusal_ != cudaSuccess; }
  cudaError_t Refusal() const { return Return(refusal_); }
  // Returns the error and keeps it for this thread's cudaGetLastError. If the context is lost, it
  // returns the error that lost it instead.
  cudaError_t Return(cudaError_t error) const;
  Runtime& runtime() const { return runtime_; }

 private:
  std::lock_guard<std::mutex> lock_;
  Runtime& runtime_;
  cudaError_t refusal_ = cudaSuccess;
};

// The calling thread's last error (cudaGetLastError) and current device (cudaSetDevice).
cudaError_t& LastError();
int& CurrentDevice();

// The live stream or event of a handle, or null. For an unknown handle the caller returns
// cudaErrorInvalidResourceHandle. A destroyed one is a fault, since a GPU's behaviour is undefined
// then. The default stream, which the project does not use, is a fault as well.
CUstream_st* FindStream(const Runtime& runtime, CUstream_st* stream);
CUevent_st* FindEvent(const Runtime& runtime, CUevent_st* event);

// Appends work to the stream's queue.
void Push(Runtime& runtime, CUstream_st& stream, Work work);
// Runs work until the recording is done, in a random order of streams that the events allow:
// sometimes only what is needed, sometimes other streams first. Ends early when the context is
// lost.
void RunUntil(Runtime& runtime, const Recording& recording);
// Run all work of one stream, and of all streams.
void RunStream(Runtime& runtime, CUstream_st& stream);
void RunAll(Runtime& runtime);
// Runs one piece of work of some stream, if any can run.
void RunSomething(Runtime& runtime);

// Keeps device memory accessible for as long as this object lives.
class OpenHeap {
 public:
  explicit OpenHeap(DeviceHeap& heap) : heap_(heap) { heap_.Open(); }
  ~OpenHeap() {
    heap_.CheckBegins();
    heap_.Close();
  }
  OpenHeap(const OpenHeap&) = delete;
  OpenHeap& operator=(const OpenHeap&) = delete;

 private:
  DeviceHeap& heap_;
};

}  // namespace fake_cuda
