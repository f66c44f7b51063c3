#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tests/fake_cuda/include/fake_cuda_shared.h"

namespace fake_cuda {

// The dynamic shared memory of the running thread block: its bytes, who accessed them when, and the
// asynchronous copies that its threads have not waited for.
class DynamicShared {
 public:
  // Begins a thread block of `threads` threads.
  void Begin(unsigned bytes, unsigned threads);

  // Whether `bytes` bytes, 2 to 16, lie at the place, which is a multiple of `bytes`; otherwise it
  // reports a fault.
  bool IsPlace(uint32_t place, unsigned bytes) const;
  // Accesses of the running thread at a place of that size.
  void Read(uint32_t place, void* to, unsigned bytes);
  void Write(uint32_t place, const void* from, unsigned bytes);
  uint16_t ReadElement(uint32_t place);

  void Copy(uint32_t to, const void* from, unsigned source_bytes);
  void Commit();
  void WaitFor(unsigned most_pending_groups);
  // Called when the running thread returns.
  void EndThread();

 private:
  static constexpr unsigned kUnitBytes = 2;
  static constexpr unsigned kCopyBytes = 16;
  using Line = std::byte[kCopyBytes];
  struct PendingCopy {
    uint32_t to;
    const void* from;
    unsigned source_bytes;
    Line source;  // as it was when the copy was begun
  };
  using Group = std::vector<PendingCopy>;
  struct Copies {
    Group open;  // not committed yet
    std::deque<Group> groups;
  };

  void Finish(const PendingCopy& copy);
  // Reports a fault if a copy to one of these bytes is pending.
  void CheckNotPending(const char* what, uint32_t place) const;

  std::vector<std::byte> bytes_;
  std::vector<AccessRecord> accesses_;  // of each kUnitBytes
  std::vector<uint16_t> copying_;       // of each kCopyBytes: 1 + the thread whose copy is pending
  std::vector<Copies> copies_;          // of each thread, at least
  bool has_copied_ = false;             // whether any of them is not empty
};

DynamicShared& TheDynamicShared();

}  // namespace fake_cuda
