#include "tests/fake_cuda/dynamic_shared.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/fake_cuda/bank_conflicts.h"
#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/include/fake_cuda_dynamic_shared.h"
#include "tests/fake_cuda/include/fake_cuda_vector.h"
#include "tests/fake_cuda/thread_block.h"

namespace fake_cuda {

// Never destroyed: a test may end with a kernel that waits.
DynamicShared& TheDynamicShared() {
  static auto* shared = new DynamicShared;
  return *shared;
}

void DynamicShared::Begin(unsigned bytes, unsigned threads) {
  const unsigned lines = (bytes + kCopyBytes - 1) / kCopyBytes;
  bytes_.resize(bytes);
  // Records of earlier thread blocks stay: their times tell.
  accesses_.resize(std::max<size_t>(accesses_.size(), size_t{lines} * (kCopyBytes / kUnitBytes)));
  copying_.assign(lines, 0);
  if (has_copied_) copies_.clear();
  has_copied_ = false;
  if (copies_.size() < threads) copies_.resize(threads);
}

bool DynamicShared::IsPlace(uint32_t place, unsigned bytes) const {
  if (place % bytes != 0) {
    Fault("an access of " + std::to_string(bytes) + " bytes to byte " + std::to_string(place) +
          " of dynamic shared memory, which is no multiple of that");
    return false;
  }
  if (place >= bytes_.size() || bytes_.size() - place < bytes) {
    Fault("an access of " + std::to_string(bytes) + " bytes to byte " + std::to_string(place) +
          " of dynamic shared memory, which has " + std::to_string(bytes_.size()));
    return false;
  }
  return true;
}

void DynamicShared::CheckNotPending(const char* what, uint32_t place) const {
  const unsigned owner = copying_[place / kCopyBytes];
  if (owner == 0) return;
  Fault(std::string(what) + " of dynamic shared byte " + std::to_string(place) +
        ", to which an asynchronous copy of thread " + std::to_string(owner - 1) +
        " of the block is pending");
}

void DynamicShared::Read(uint32_t place, void* to, unsigned bytes) {
  CheckNotPending("read", place);
  for (unsigned i = 0; i < bytes; i += kUnitBytes) {
    accesses_[(place + i) / kUnitBytes].RecordRead(place + i, false);
  }
  std::memcpy(to, &bytes_[place], bytes);
}

uint16_t DynamicShared::ReadElement(uint32_t place) {
  uint16_t element = 0;
  Read(place, &element, sizeof(element));
  return element;
}

void DynamicShared::Write(uint32_t place, const void* from, unsigned bytes) {
  CheckNotPending("write", place);
  for (unsigned i = 0; i < bytes; i += kUnitBytes) {
    accesses_[(place + i) / kUnitBytes].RecordWrite(place + i, false);
  }
  std::memcpy(&bytes_[place], from, bytes);
}

// The copy may write at any time from here to its end, so it must not race with what was before.
void DynamicShared::Copy(uint32_t to, const void* from, unsigned source_bytes) {
  if (source_bytes > kCopyBytes) {
    Fault("an asynchronous copy of 16 bytes from " + std::to_string(source_bytes));
    return;
  }
  CheckVectorAccess(from, kCopyBytes);
  if (!IsPlace(to, kCopyBytes)) return;
  CheckNotPending("copy", to);
  has_copied_ = true;
  for (unsigned i = 0; i < kCopyBytes; i += kUnitBytes) {
    accesses_[(to + i) / kUnitBytes].RecordWrite(to + i, false);
  }
  copying_[to / kCopyBytes] = static_cast<uint16_t>(thread_block_time.thread + 1);
  PendingCopy copy{to, from, source_bytes, {}};
  if (source_bytes > 0) std::memcpy(copy.source, from, source_bytes);
  copies_[thread_block_time.thread].open.push_back(copy);
}

void DynamicShared::Commit() {
  has_copied_ = true;
  Copies& own = copies_[thread_block_time.thread];
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}

void DynamicShared::WaitFor(unsigned most_pending_groups) {
  Copies& own = copies_[thread_block_time.thread];
  while (own.groups.size() > most_pending_groups) {
    for (const PendingCopy& copy : own.groups.front()) Finish(copy);
    own.groups.pop_front();
  }
}

void DynamicShared::Finish(const PendingCopy& copy) {
  if (copy.source_bytes > 0 && std::memcmp(copy.source, copy.from, copy.source_bytes) != 0) {
    Fault("the source of an asynchronous copy to dynamic shared byte " + std::to_string(copy.to) +
          " changed before the wait for it");
  }
  copying_[copy.to / kCopyBytes] = 0;
  Line line{};
  if (copy.source_bytes > 0) std::memcpy(line, copy.from, copy.source_bytes);
  Write(copy.to, line, kCopyBytes);
}

void DynamicShared::EndThread() {
  if (!has_copied_) return;
  const Copies& own = copies_[thread_block_time.thread];
  const bool waited =
      own.open.empty() && std::all_of(own.groups.begin(), own.groups.end(),
                                      [](const Group& group) { return group.empty(); });
  if (!waited) Fault("a thread returns without having waited for its asynchronous copies");
}

void ReadDynamicShared(uint32_t place, void* to, unsigned bytes) {
  std::memset(to, 0, bytes);
  if (!TheDynamicShared().IsPlace(place, bytes)) return;
  LogSharedAccess(SharedUse::kLoad, nullptr, place, bytes);
  TheDynamicShared().Read(place, to, bytes);
}

void WriteDynamicShared(uint32_t place, const void* from, unsigned bytes) {
  if (!TheDynamicShared().IsPlace(place, bytes)) return;
  LogSharedAccess(SharedUse::kStore, nullptr, place, bytes);
  TheDynamicShared().Write(place, from, bytes);
}

void CopyAsync(uint32_t to, const void* from, unsigned source_bytes) {
  CheckAmpere("cp.async");
  LogSharedAccess(SharedUse::kCopy, nullptr, to, 16);
  TheDynamicShared().Copy(to, from, source_bytes);
}

void CommitCopies() { TheDynamicShared().Commit(); }

void WaitForCopies(unsigned most_pending_groups) {
  TheDynamicShared().WaitFor(most_pending_groups);
}

}  // namespace fake_cuda
