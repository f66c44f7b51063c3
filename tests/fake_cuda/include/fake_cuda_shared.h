// Shared memory that detects races: every cell records its last accesses. It reports an index
// outside the array, a read of a cell that no thread of this thread block has written, and two
// threads that access a cell, at least one of them writing, without a barrier between them.
// __syncwarp of a whole warp orders the accesses of its warp lanes. Shuffles and __syncwarp of a
// part of a warp order nothing: NVIDIA does not promise it, or we do not record it.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "fake_cuda_threads.h"

namespace fake_cuda {

// The logical clock that orders accesses. `now` grows by one whenever a thread block begins or
// passes a barrier and at every __syncwarp of a whole warp; it is never reset.
struct ThreadBlockTime {
  uint64_t now = 1;
  uint64_t begin = 1;         // when the thread block began
  uint64_t barrier = 1;       // when it passed its last barrier
  uint64_t warp_barrier = 1;  // when the running warp passed its last __syncwarp
  unsigned thread = 0;        // index of the running thread in its thread block
};
extern ThreadBlockTime thread_block_time;

// When a cell was accessed, by which thread, and whether atomically. All bits zero: never.
class Access {
 public:
  Access() = default;
  static Access Now(bool atomic) {
    Access access;
    access.bits_ =
        thread_block_time.now << 12 | (atomic ? 1u << 11 : 0u) | thread_block_time.thread;
    return access;
  }
  uint64_t when() const { return bits_ >> 12; }
  unsigned thread() const { return bits_ & 0x7FF; }
  bool is_atomic() const { return (bits_ >> 11 & 1) != 0; }
  bool of_block() const { return when() >= thread_block_time.begin; }
  bool same_warp() const { return thread() / 32 == thread_block_time.thread / 32; }
  // Whether another thread than the running one made this access, with no barrier since.
  bool races() const {
    return when() >= thread_block_time.barrier && thread() != thread_block_time.thread &&
           !(same_warp() && when() < thread_block_time.warp_barrier);
  }

 private:
  uint64_t bits_;
};

// What the counter of bank conflicts is told of an access to `bytes` bytes, `offset` bytes from the
// begin of an array; null: of dynamic shared memory. It does nothing unless conflicts are counted.
enum class SharedUse { kLoad, kStore, kCopy };
extern bool counting_bank_conflicts;
void LogSharedAccess(SharedUse use, const void* array, uint32_t offset, unsigned bytes);

enum class SharedFault { kUnwritten, kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
void ReportShared(SharedFault fault, int64_t cell, unsigned other_thread);
void ReportIndex(int64_t index, int64_t size);

// The recorded accesses of one cell. Of the reads since the last barrier it keeps the last one, the
// last one by another thread, and the last one by another warp. That is enough to find, for any
// writer, a reader that it races with, if there is one.
struct AccessRecord {
  Access write;
  Access read;
  Access read_by_other;
  Access read_by_other_warp;

  void RecordRead(int64_t cell, bool atomic) {
    if (!write.of_block()) ReportShared(SharedFault::kUnwritten, cell, 0);
    if (write.races() && !(atomic && write.is_atomic())) {
      ReportShared(SharedFault::kReadAfterWrite, cell, write.thread());
    }
    if (atomic) return;
    if (read.thread() != thread_block_time.thread) read_by_other = read;
    if (!read.same_warp()) read_by_other_warp = read;
    read = Access::Now(false);
  }
  void RecordWrite(int64_t cell, bool atomic) {
    if (write.of_block() && write.races() && !(atomic && write.is_atomic())) {
      ReportShared(SharedFault::kWriteAfterWrite, cell, write.thread());
    }
    for (const Access& access : {read, read_by_other, read_by_other_warp}) {
      if (access.of_block() && access.races()) {
        ReportShared(SharedFault::kWriteAfterRead, cell, access.thread());
        break;
      }
    }
    write = Access::Now(atomic);
  }
};

// One element of shared memory, which converts to T and is assigned a T. It cannot be copied, so
// `auto x = tile[i]` does not compile: write the type of x. Templates that take an element need the
// type too.
template <typename T>
class Cell {
 public:
  Cell() = default;
  Cell(const Cell&) = delete;
  operator T() const {
    accesses_.RecordRead(index_, false);
    Log(SharedUse::kLoad);
    return value_;
  }
  Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
  Cell& operator=(const T& value) {
    accesses_.RecordWrite(index_, false);
    Log(SharedUse::kStore);
    value_ = value;
    return *this;
  }
  Cell& operator+=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
  Cell& operator-=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) - value); }
  Cell& operator*=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

  template <typename Change>
  T ChangeAtomically(const Change& change) {
    accesses_.RecordRead(index_, true);
    accesses_.RecordWrite(index_, true);
    const T before = value_;
    value_ = change(before);
    return before;
  }

 private:
  template <typename, int>
  friend class Shared;

  void Log(SharedUse use) const {
    if (!counting_bank_conflicts) [[likely]]
      return;
    LogSharedAccess(use, this - index_, static_cast<uint32_t>(index_) * sizeof(T), sizeof(T));
  }

  T value_;
  int64_t index_;
  mutable AccessRecord accesses_;
};

// An array in shared memory. Use it for `__shared__` variables only: they are static and so start
// as zeros, as AccessRecord requires.
template <typename T, int N>
class Shared {
 public:
  static_assert(std::is_trivially_copyable_v<T> && N > 0);
  Cell<T>& operator[](int64_t index) {
    if (index < 0 || index >= N) [[unlikely]] {
      ReportIndex(index, N);
      index = 0;
    }
    cells_[index].index_ = index;
    return cells_[index];
  }

 private:
  Cell<T> cells_[N];
};

}  // namespace fake_cuda

template <std::integral T>
T atomicAdd(fake_cuda::Cell<T>* cell, std::type_identity_t<T> value) {
  return cell->ChangeAtomically([&](T before) { return static_cast<T>(before + value); });
}
template <std::integral T>
T atomicMin(fake_cuda::Cell<T>* cell, std::type_identity_t<T> value) {
  return cell->ChangeAtomically([&](T before) { return value < before ? value : before; });
}
template <std::integral T>
T atomicMax(fake_cuda::Cell<T>* cell, std::type_identity_t<T> value) {
  return cell->ChangeAtomically([&](T before) { return value > before ? value : before; });
}
template <std::integral T>
T atomicOr(fake_cuda::Cell<T>* cell, std::type_identity_t<T> value) {
  return cell->ChangeAtomically([&](T before) { return static_cast<T>(before | value); });
}
