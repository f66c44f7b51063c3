#include "kernels/attention/turns.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/threads/workers.h"

namespace horizon {
namespace {

// More pieces than slots, so that slots are used again; every place has to be visited by the pieces
// of its sequence in ascending order.
TEST(Turns, PiecesVisitAPlaceInAscendingOrder) {
  constexpr int64_t kSteps = 5;
  constexpr int64_t kSequences = 3;
  constexpr int64_t kPieces = 3000;
  for (const int threads : {1, 2, 4}) {
    const std::unique_ptr<Workers> workers = *Workers::Create("turns", threads);
    // Not atomic: the turns order what is done to it.
    std::vector<int64_t> last(kSequences * kSteps, -1);
    Turns turns(kSteps);
    int64_t wrong = 0;
    workers->Run(kPieces, [&](int64_t piece, int) {
      turns.Begin(piece);
      for (int64_t step = 0; step < kSteps; ++step) {
        // Some leave steps out.
        if ((piece / kSequences + step) % 4 == 3) continue;
        if (piece >= kSequences) turns.WaitFor(piece - kSequences, step);
        int64_t& at = last[static_cast<size_t>(piece % kSequences * kSteps + step)];
        if (at >= piece) ++wrong;
        at = piece;
        turns.Complete(piece, step);
      }
      if (piece >= kSequences) turns.WaitFor(piece - kSequences, kSteps - 1);
      turns.Complete(piece, kSteps - 1);
    });
    EXPECT_EQ(wrong, 0) << threads;
    for (const int64_t piece : last) EXPECT_GE(piece, kPieces - 3 * kSequences) << threads;
  }
}

}  // namespace
}  // namespace horizon
