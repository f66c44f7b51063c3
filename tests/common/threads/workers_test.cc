#include "common/threads/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace horizon {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Workers> Make(int count) { return *Workers::Create("lane", count); }

TEST(Workers, RunEveryPieceExactlyOnceForAnyNumberOfPiecesAndWorkers) {
  for (const int count : {1, 2, 3, 8, 40}) {
    const auto workers = Make(count);
    ASSERT_EQ(workers->count(), count);
    for (const int64_t pieces : {0, 1, 2, 7, 8, 9, 5000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(pieces));
      std::atomic<int> wrong_workers = 0;
      workers->Run(pieces, [&](int64_t piece, int worker) {
        ++runs.at(static_cast<size_t>(piece));
        if (worker < 0 || worker >= count) ++wrong_workers;
      });
      for (const std::atomic<int>& run : runs) ASSERT_EQ(run, 1);
      ASSERT_EQ(wrong_workers, 0);
    }
  }
}

TEST(Workers, NegativeNumbersOfPiecesAreNone) {
  const auto workers = Make(3);
  workers->Run(-5, [](int64_t, int) { FAIL(); });
}

// Hangs unless four pieces are under way at once, each with a worker of its own.
TEST(Workers, ReallyWorkAtTheSameTimeAndNoTwoPiecesShareAWorker) {
  const auto workers = Make(4);
  std::latch all_here(4);
  std::vector<std::atomic<int>> pieces_of(4);
  workers->Run(4, [&](int64_t, int worker) {
    ++pieces_of.at(static_cast<size_t>(worker));
    all_here.arrive_and_wait();
  });
  for (const std::atomic<int>& pieces : pieces_of) EXPECT_EQ(pieces, 1);
}

// A worker that is late for one run must not take part in the next with the old body, and what a
// piece wrote is seen by whoever called Run: the sums are plain integers.
TEST(Workers, ManyRunsInARowDoNotMix) {
  for (const int count : {2, 5}) {
    const auto workers = Make(count);
    for (int64_t run = 0; run < 3000; ++run) {
      std::vector<int64_t> seen(static_cast<size_t>(run % 9), -1);
      workers->Run(run % 9, [&](int64_t piece, int) { seen.at(static_cast<size_t>(piece)) = run; });
      for (const int64_t value : seen) ASSERT_EQ(value, run);
    }
  }
}

TEST(Workers, ARunIsOverWhenItsPiecesAreThoughNotAllWorkersCame) {
  // Many more threads than any machine here has cores: most are late for a run of two short pieces.
  const auto workers = Make(64);
  std::atomic<int64_t> pieces = 0;
  for (int64_t run = 0; run < 500; ++run) {
    workers->Run(2, [&](int64_t, int) { ++pieces; });
    ASSERT_EQ(pieces, 2 * (run + 1));
  }
}

// A caller that left with a worker still in its piece would find the flag unset.
TEST(Workers, ARunIsNotOverWhileAWorkerIsInside) {
  const auto workers = Make(2);
  for (int run = 0; run < 200; ++run) {
    std::latch both(2);
    bool done[2] = {false, false};
    workers->Run(2, [&](int64_t piece, int worker) {
      both.arrive_and_wait();
      if (worker == 1) std::this_thread::yield();
      done[piece] = true;
    });
    ASSERT_TRUE(done[0] && done[1]);
  }
}

TEST(Workers, CanBeUsedByOneThreadAfterAnother) {
  const auto workers = Make(3);
  std::atomic<int> pieces = 0;
  for (int i = 0; i < 20; ++i) {
    std::jthread([&] { workers->Run(10, [&](int64_t, int) { ++pieces; }); }).join();
  }
  workers->Run(10, [&](int64_t, int) { ++pieces; });
  EXPECT_EQ(pieces, 210);
}

TEST(Workers, TheCallerIsWorkerZeroAndWorksToo) {
  const auto workers = Make(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::latch both(2);
  std::atomic<bool> caller_was_zero = false;
  workers->Run(2, [&](int64_t, int worker) {
    both.arrive_and_wait();
    if (std::this_thread::get_id() == caller) caller_was_zero = worker == 0;
  });
  EXPECT_TRUE(caller_was_zero);
}

TEST(Workers, InlineIsTheCallerAloneInAscendingOrder) {
  const auto workers = Workers::Inline();
  EXPECT_EQ(workers->count(), 1);
  std::vector<int64_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  workers->Run(4, [&](int64_t piece, int worker) {
    order.push_back(piece);
    EXPECT_EQ(worker, 0);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Workers, ThreadsCarryTheNameAndTheirNumber) {
  const auto workers = Make(3);
  std::latch all_here(3);
  std::vector<std::string> names(3);
  workers->Run(3, [&](int64_t, int worker) {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    names.at(static_cast<size_t>(worker)) = name;
    all_here.arrive_and_wait();
  });
  EXPECT_EQ(names[1], "lane-1");
  EXPECT_EQ(names[2], "lane-2");
}

TEST(Workers, ImpossibleCountsAreRefused) {
  for (const int count : {-1, 0, 1025}) {
    const auto workers = Workers::Create("lane", count);
    ASSERT_TRUE(absl::IsInvalidArgument(workers.status())) << count;
    EXPECT_THAT(std::string(workers.status().message()), HasSubstr("lane"));
  }
}

TEST(Workers, UnusedWorkersEnd) {
  for (int i = 0; i < 50; ++i) Make(4);
  const auto workers = Make(4);
  EXPECT_EQ(workers->count(), 4);
}

}  // namespace
}  // namespace horizon
