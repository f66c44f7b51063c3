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

struct Failure {
  uint64_t at = 0;  // counts down; 0 is none
  cudaError_t error = cudaSuccess;
  Again again = Again::kOnce;
};

// All that the fake knows. One for the process; whoever reads or writes it holds the mutex, and
// kernels run on the thread that waits, under it.
struct Runtime {
  explicit Runtime(const Options& chosen) : options(chosen), random(chosen.seed) {}

  Options options;
  Random random;
  DeviceHeap heap;
  HostRanges host;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::map<const void*, std::string> handles;  // live ones of cublasLt and what they are
  // What an algorithm was chosen for, and what cublasLtMatmulAlgoCheck allowed it for, as hashes.
  std::set<std::pair<uint64_t, uint64_t>> checked_algorithms;
  double host_milliseconds = 0;  // the host has seen that much pass

  cudaError_t lost = cudaSuccess;  // every call returns it from now on
  Failure failing_call;
  Failure failing_work;
  bool has_failed = false;
  uint64_t calls = 0;
  uint64_t work = 0;
};

std::mutex& RuntimeMutex();
// Made at the first use, with the default options.
Runtime& TheRuntime();

enum class CallKind { kOrdinary, kReleasing };

// One call of the API: takes the lock, counts, and knows whether it has to fail. An ordinary call
// that is refused does nothing but return Refusal(); a releasing one does its work all the same.
class Call {
 public:
  explicit Call(CallKind kind = CallKind::kOrdinary);
  bool refused() const { return refusal_ != cudaSuccess; }
  cudaError_t Refusal() const { return Return(refusal_); }
  // Keeps an error for this thread's cudaGetLastError. What the context was lost to comes first.
  cudaError_t Return(cudaError_t error) const;
  Runtime& runtime() const { return runtime_; }

 private:
  std::lock_guard<std::mutex> lock_;
  Runtime& runtime_;
  cudaError_t refusal_ = cudaSuccess;
};

// This thread's cudaGetLastError, and its cudaSetDevice.
cudaError_t& LastError();
int& CurrentDevice();

// The live stream or event of a handle, or null: unknown ones are the caller's mistake to report as
// cudaErrorInvalidResourceHandle; destroyed ones are a fault, for a GPU's answer is undefined. The
// default stream, which the project does not use, is a fault as well.
CUstream_st* FindStream(const Runtime& runtime, CUstream_st* stream);
CUevent_st* FindEvent(const Runtime& runtime, CUevent_st* event);

// Puts work behind the stream's.
void Push(Runtime& runtime, CUstream_st& stream, Work work);
// Runs work until the recording is done, in an order of streams that events allow: sometimes only
// what is needed, sometimes other streams first. Ends early when the context is lost.
void RunUntil(Runtime& runtime, const Recording& recording);
// All work of a stream; of all streams.
void RunStream(Runtime& runtime, CUstream_st& stream);
void RunAll(Runtime& runtime);
// One piece of some stream, if any can run.
void RunSomething(Runtime& runtime);

// Opens device memory for as long as it lives.
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
