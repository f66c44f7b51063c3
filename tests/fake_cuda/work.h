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

// One cudaEventRecord: shared by the event, by the work that does it and by those that wait for it.
struct Recording {
  bool done = false;
  double milliseconds = 0;  // on the fake's clock
};

// Host memory that belongs to a piece of work from the call on.
struct HostUse {
  std::byte* begin = nullptr;
  uint64_t bytes = 0;
  bool is_target = false;
  uint64_t hash = 0;  // of what it held at the call, or since the device changed it
};

// A piece of a stream's queue. Exactly one of run, records, waits is set.
struct Work {
  std::string what;           // for messages
  std::function<void()> run;  // device memory is open
  std::shared_ptr<Recording> records;
  std::shared_ptr<Recording> waits;
  std::vector<HostUse> host;
  const void* workspace = nullptr;  // of a product, in device memory
  uint64_t workspace_bytes = 0;
  double milliseconds = 0;  // it takes
  double earliest = 0;      // the host's time at the call
};

}  // namespace fake_cuda

// What the handles point to. A destroyed one is kept until Reset, so that its use is noticed; a
// destroyed stream's queue still runs.
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
