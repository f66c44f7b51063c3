// Shared memory whose every cell knows who touched it last. Caught: an index outside, a read of a
// cell that nobody wrote in this block, two threads touching a cell, one of them writing, without a
// barrier between. __syncwarp of a whole warp orders its lanes; shuffles and __syncwarp of a part
// order nothing, for NVIDIA does not promise it or we do not keep book of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "fake_cuda_threads.h"

namespace fake_cuda {

// What orders accesses: `now` grows by one at every block's begin, barrier and __syncwarp, for
// ever.
struct BlockTime {
  uint64_t now = 1;
  uint64_t begin = 1;         // of the block
  uint64_t barrier = 1;       // the last one of the block
  uint64_t warp_barrier = 1;  // the last one of the warp that runs
  unsigned thread = 0;        // that runs, counted over the block
};
extern BlockTime block_time;

// When, and by which thread. Zero is never.
class Touch {
 public:
  Touch() = default;
  static Touch Now(bool atomic) {
    Touch touch;
    touch.bits_ = block_time.now << 12 | (atomic ? 1u << 11 : 0u) | block_time.thread;
    return touch;
  }
  uint64_t when() const { return bits_ >> 12; }
  unsigned thread() const { return bits_ & 0x7FF; }
  bool is_atomic() const { return (bits_ >> 11 & 1) != 0; }
  bool of_block() const { return when() >= block_time.begin; }
  bool same_warp() const { return thread() / 32 == block_time.thread / 32; }
  // No barrier stands between it and the running thread, which is another one.
  bool races() const {
    return when() >= block_time.barrier && thread() != block_time.thread &&
           !(same_warp() && when() < block_time.warp_barrier);
  }

 private:
  uint64_t bits_;
};

enum class SharedFault { kUnwritten, kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
void ReportShared(SharedFault fault, int64_t cell, unsigned other_thread);
void ReportIndex(int64_t index, int64_t size);

// The book of one cell. Of the reads since the last barrier it keeps the last one, the last one by
// another thread, and the last one by another warp than the last: enough to find for any writer a
// reader that it races with, if there is one.
struct CellBook {
  Touch write;
  Touch read;
  Touch read_by_other;
  Touch read_by_other_warp;

  void NoteRead(int64_t cell, bool atomic) {
    if (!write.of_block()) ReportShared(SharedFault::kUnwritten, cell, 0);
    if (write.races() && !(atomic && write.is_atomic())) {
      ReportShared(SharedFault::kReadAfterWrite, cell, write.thread());
    }
    if (atomic) return;
    if (read.thread() != block_time.thread) read_by_other = read;
    if (!read.same_warp()) read_by_other_warp = read;
    read = Touch::Now(false);
  }
  void NoteWrite(int64_t cell, bool atomic) {
    if (write.of_block() && write.races() && !(atomic && write.is_atomic())) {
      ReportShared(SharedFault::kWriteAfterWrite, cell, write.thread());
    }
    for (const Touch& touch : {read, read_by_other, read_by_other_warp}) {
      if (touch.of_block() && touch.races()) {
        ReportShared(SharedFault::kWriteAfterRead, cell, touch.thread());
        break;
      }
    }
    write = Touch::Now(atomic);
  }
};

// Reads as a T and is assigned a T. It has no copy, so `auto x = tile[i]` does not compile: write
// the type, as templates that take it need too.
template <typename T>
class Cell {
 public:
  Cell() = default;
  Cell(const Cell&) = delete;
  operator T() const {
    book_.NoteRead(index_, false);
    return value_;
  }
  Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
  Cell& operator=(const T& value) {
    book_.NoteWrite(index_, false);
    value_ = value;
    return *this;
  }
  Cell& operator+=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
  Cell& operator-=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) - value); }
  Cell& operator*=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

  template <typename Change>
  T ChangeAtomically(const Change& change) {
    book_.NoteRead(index_, true);
    book_.NoteWrite(index_, true);
    const T before = value_;
    value_ = change(before);
    return before;
  }

 private:
  template <typename, int>
  friend class Shared;
  T value_;
  int64_t index_;
  mutable CellBook book_;
};

// For `__shared__` variables only: they begin as zeros, which the books need.
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
