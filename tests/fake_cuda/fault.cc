#include "tests/fake_cuda/fault.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/fake_cuda/thread_block.h"

namespace fake_cuda {
namespace {

// A kernel that is wrong is wrong in every thread; the first faults say it.
constexpr size_t kMostKept = 100;

std::mutex mutex;
bool collecting = false;
std::vector<std::string> kept;

}  // namespace

void Fault(const std::string& text) {
  const std::string line = text + DescribeRunningThread();
  const std::lock_guard lock(mutex);
  if (!collecting) {
    std::fprintf(stderr, "fake CUDA: %s\n", line.c_str());
    std::fflush(stderr);
    std::abort();
  }
  if (kept.size() < kMostKept && std::find(kept.begin(), kept.end(), line) == kept.end()) {
    kept.push_back(line);
  }
}

bool IsCollecting() {
  const std::lock_guard lock(mutex);
  return collecting;
}

void CollectFaults(bool collect) {
  const std::lock_guard lock(mutex);
  collecting = collect;
  kept.clear();
}

std::vector<std::string> TakeFaults() {
  const std::lock_guard lock(mutex);
  return std::exchange(kept, {});
}

}  // namespace fake_cuda
