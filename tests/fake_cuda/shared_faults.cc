// What the checked cells and vector accesses of device code report.
#include <string>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/include/fake_cuda_shared.h"
#include "tests/fake_cuda/include/fake_cuda_vector.h"

namespace fake_cuda {

void ReportShared(SharedFault fault, int64_t cell, unsigned other_thread) {
  const std::string shared = "shared cell " + std::to_string(cell);
  const std::string other =
      "thread " + std::to_string(other_thread) + " of the block without a barrier between";
  switch (fault) {
    case SharedFault::kUnwritten:
      return Fault("read of " + shared + ", which the block never wrote");
    case SharedFault::kReadAfterWrite:
      return Fault("read of " + shared + ", written by " + other);
    case SharedFault::kWriteAfterRead:
      return Fault("write of " + shared + ", read by " + other);
    case SharedFault::kWriteAfterWrite:
      return Fault("write of " + shared + ", written by " + other);
  }
}

void ReportIndex(int64_t index, int64_t size) {
  Fault("index " + std::to_string(index) + " of a shared array of " + std::to_string(size));
}

void CheckVectorAccess(const void* pointer, size_t bytes) {
  const auto past = reinterpret_cast<uintptr_t>(pointer) % bytes;
  if (past == 0) return;
  Fault("a vector access of " + std::to_string(bytes) + " bytes at an address " +
        std::to_string(past) + " past a multiple of that");
}

}  // namespace fake_cuda
