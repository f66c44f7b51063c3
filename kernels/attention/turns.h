#pragma once

#include <atomic>
#include <cstdint>

namespace horizon {

// Lets the pieces of one Workers::Run add to the same memory in a fixed order. A piece takes
// `steps` steps in ascending order, and before a step it waits until an earlier piece has taken the
// same step:
//
//   turns.Begin(piece);
//   for (int64_t step = 0; step < steps; ++step) {
//     turns.WaitFor(earlier_piece, step);
//     ... add ...
//     turns.Complete(piece, step);
//   }
//
// Steps may be left out, but the last one is completed. It cannot deadlock: pieces are given out in
// ascending order, each to a thread that runs, and wait for lower numbers only.
class Turns {
 public:
  explicit Turns(int64_t steps) : steps_(steps) {}

  void Begin(int64_t piece) {
    // The piece that had the slot before is complete.
    if (piece >= kSlots) Wait(piece, (piece - kSlots + 1) * steps_);
  }
  void WaitFor(int64_t earlier_piece, int64_t step) {
    Wait(earlier_piece, earlier_piece * steps_ + step + 1);
  }
  void Complete(int64_t piece, int64_t step) {
    std::atomic<int64_t>& slot = slots_[piece % kSlots];
    slot.store(piece * steps_ + step + 1, std::memory_order_release);
    slot.notify_all();
  }

 private:
  void Wait(int64_t piece, int64_t least) {
    std::atomic<int64_t>& slot = slots_[piece % kSlots];
    for (int64_t seen = slot.load(std::memory_order_acquire); seen < least;
         seen = slot.load(std::memory_order_acquire)) {
      slot.wait(seen, std::memory_order_acquire);
    }
  }

  // As many pieces can be in work at once; Workers has no more threads.
  static constexpr int64_t kSlots = 1024;
  const int64_t steps_;
  // piece x steps + steps completed, of the latest piece that has the slot: it only grows.
  std::atomic<int64_t> slots_[kSlots] = {};
};

}  // namespace horizon
