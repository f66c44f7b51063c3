#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/fake_cuda/include/cuda_runtime_api.h"

namespace fake_cuda {

// One call of cudaEventRecord. The event, the work that executes the call and the work that waits
// for it share it.
struct Recording {
  bool done = false;
  double milliseconds = 0;  // on the fake's clock
};

// Host memory that a piece of work uses, from the call until the work has run.
struct HostUse {
  std::byte* begin = nullptr;
  uint64_t bytes = 0;
  bool is_target = false;
  uint64_t hash = 0;  // of its contents at the call, or after the device's last change to it
};

// One entry of a stream's queue. Exactly one of run, records and waits is set.
struct Work {
  std::string what;           // for messages
  std::function<void()> run;  // called while device memory is accessible
  std::shared_ptr<Recording> records;
  std::shared_ptr<Recording> waits;
  std::vector<HostUse> host;
  const void* workspace = nullptr;  // of a GEMM, in device memory
  uint64_t workspace_bytes = 0;
  double milliseconds = 0;  // its duration on the fake's clock
  double earliest = 0;      // the host's time at the call
};

}  // namespace fake_cuda

// The objects that stream and event handles point to. A destroyed one is kept until Reset, so that
// its use is noticed; the queue of a destroyed stream still runs.
struct CUstream_st {
  int number = 0;
  bool destroyed = false;
  std::deque<fake_cuda::Work> queue;
  double milliseconds = 0;  // when its last work ended
};

struct CUevent_st {
  int number = 0;
  bool destroyed = false;
  unsigned flags = 0;
  std::shared_ptr<fake_cuda::Recording> last;  // null before the first record
};
