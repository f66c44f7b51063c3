#include "common/threads/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <vector>

namespace horizon {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ThreadPool> MakePool(int threads, const std::string& name = "pool") {
  return *ThreadPool::Create({.name = name, .threads = threads});
}

TEST(ThreadPool, RunsEveryIndexExactlyOnceForAnyCountAndThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto pool = MakePool(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (const size_t count :
         {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{8}, size_t{9}, size_t{10'000}}) {
      std::vector<std::atomic<int>> runs(count);
      EXPECT_TRUE(pool->ParallelFor(count,
                                    [&](size_t i) {
                                      ++runs.at(i);
                                      return absl::OkStatus();
                                    })
                      .ok());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(runs[i], 1) << i;
    }
  }
}

// Hangs unless four indices are under way at once.
TEST(ThreadPool, ReallyRunsAtTheSameTime) {
  const auto pool = MakePool(4);
  std::latch all_here(4);
  EXPECT_TRUE(pool->ParallelFor(4,
                                [&](size_t) {
                                  all_here.arrive_and_wait();
                                  return absl::OkStatus();
                                })
                  .ok());
}

TEST(ThreadPool, ReturnsTheErrorOfTheLowestFailingIndexWhateverTheTiming) {
  for (const int threads : {1, 2, 5}) {
    const auto pool = MakePool(threads);
    for (int round = 0; round < 300; ++round) {
      const absl::Status status = pool->ParallelFor(100, [&](size_t i) {
        if (i == 40 || i == 41 || i == 42 || i == 99) {
          return absl::DataLossError(std::to_string(i));
        }
        return absl::OkStatus();
      });
      ASSERT_EQ(status, absl::DataLossError("40"));
    }
  }
}

TEST(ThreadPool, TheLowestFailingIndexWinsEvenIfItFailsLast) {
  const auto pool = MakePool(2);
  std::latch second_failed(1);
  const absl::Status status = pool->ParallelFor(2, [&](size_t i) {
    if (i == 0) {
      second_failed.wait();
    } else {
      second_failed.count_down();
    }
    return absl::InternalError(std::to_string(i));
  });
  EXPECT_EQ(status, absl::InternalError("0"));
}

TEST(ThreadPool, AnErrorEndsTheLoopEarlyAndLeavesThePoolUsable) {
  const auto pool = MakePool(2);
  std::atomic<size_t> begun = 0;
  EXPECT_FALSE(pool->ParallelFor(1'000'000,
                                 [&](size_t) {
                                   ++begun;
                                   return absl::InternalError("no");
                                 })
                   .ok());
  // Each thread begins one index before it can see the other's failure.
  EXPECT_LE(begun, 2u);
  EXPECT_TRUE(pool->ParallelFor(10, [](size_t) { return absl::OkStatus(); }).ok());
}

TEST(ThreadPool, WhatATaskThrowsBecomesItsStatus) {
  const auto pool = MakePool(2);
  const absl::Status standard =
      pool->ParallelFor(1, [](size_t) -> absl::Status { throw std::runtime_error("the reason"); });
  EXPECT_EQ(standard.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(standard.message()), HasSubstr("the reason"));
  EXPECT_TRUE(absl::IsResourceExhausted(
      pool->Submit([](const std::stop_token&) -> absl::Status { throw std::bad_alloc(); }).get()));
  EXPECT_EQ(pool->Submit([](const std::stop_token&) -> absl::Status { throw 7; }).get().code(),
            absl::StatusCode::kInternal);
  EXPECT_TRUE(pool->ParallelFor(10, [](size_t) { return absl::OkStatus(); }).ok());
}

TEST(ThreadPool, SubmitGivesTheTasksOwnStatus) {
  const auto pool = MakePool(2);
  auto good = pool->Submit([](const std::stop_token&) { return absl::OkStatus(); });
  auto bad = pool->Submit([](const std::stop_token&) { return absl::NotFoundError("gone"); });
  EXPECT_TRUE(good.get().ok());
  EXPECT_EQ(bad.get(), absl::NotFoundError("gone"));
}

TEST(ThreadPool, MoreTasksThanMayWaitHoldTheOwnerBackAndAllRun) {
  const auto pool = *ThreadPool::Create({.name = "small", .threads = 1, .waiting = 2});
  std::atomic<int> runs = 0;
  std::vector<std::future<absl::Status>> results;
  results.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    results.push_back(pool->Submit([&](const std::stop_token&) {
      ++runs;
      return absl::OkStatus();
    }));
  }
  for (auto& result : results) EXPECT_TRUE(result.get().ok());
  EXPECT_EQ(runs, 1000);
}

// Hangs if destruction does not pass the request on to the running task.
TEST(ThreadPool, DestructionStopsTheRunningTaskAndCancelsTheWaitingOnes) {
  std::future<absl::Status> running;
  std::future<absl::Status> waiting;
  std::atomic<bool> began = false;
  {
    const auto pool = MakePool(1);
    std::latch inside(1);
    running = pool->Submit([&](const std::stop_token& stop) {
      inside.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      return absl::OkStatus();
    });
    inside.wait();
    waiting = pool->Submit([&](const std::stop_token&) {
      began = true;
      return absl::OkStatus();
    });
  }
  EXPECT_TRUE(running.get().ok());
  EXPECT_TRUE(absl::IsCancelled(waiting.get()));
  EXPECT_FALSE(began);
}

// Hangs if one thread is joined before the next is asked to stop.
TEST(ThreadPool, DestructionAsksAllThreadsBeforeItJoinsOne) {
  std::latch both_asked(2);
  std::latch inside(2);
  std::vector<std::future<absl::Status>> results;
  {
    const auto pool = MakePool(2);
    for (int i = 0; i < 2; ++i) {
      results.push_back(pool->Submit([&](const std::stop_token& stop) {
        inside.arrive_and_wait();
        while (!stop.stop_requested()) std::this_thread::yield();
        both_asked.arrive_and_wait();
        return absl::OkStatus();
      }));
    }
    inside.wait();
  }
  for (auto& result : results) EXPECT_TRUE(result.get().ok());
}

std::set<std::string> NamesOf(ThreadPool& pool) {
  std::mutex mutex;
  std::set<std::string> names;
  std::latch all_here(pool.threads());
  const absl::Status status = pool.ParallelFor(static_cast<size_t>(pool.threads()), [&](size_t) {
    all_here.arrive_and_wait();
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    const std::scoped_lock lock(mutex);
    names.insert(name);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  return names;
}

TEST(ThreadPool, ThreadsHaveThePoolsNameAndTheirNumber) {
  EXPECT_EQ(NamesOf(*MakePool(3, "gemm")), (std::set<std::string>{"gemm-0", "gemm-1", "gemm-2"}));
  const auto names = NamesOf(*MakePool(11, "a very long name of a pool"));
  EXPECT_EQ(names.size(), 11u);
  EXPECT_TRUE(names.contains("a very long n-0"));
  EXPECT_TRUE(names.contains("a very long -10"));
}

TEST(ThreadPool, BadCountsAreRefused) {
  for (const ThreadPoolOptions& options :
       {ThreadPoolOptions{.name = "p", .threads = 0}, ThreadPoolOptions{.name = "p", .threads = -1},
        ThreadPoolOptions{.name = "p", .threads = 1025},
        ThreadPoolOptions{.name = "p", .threads = 1, .waiting = 0}}) {
    const auto pool = ThreadPool::Create(options);
    EXPECT_TRUE(absl::IsInvalidArgument(pool.status())) << pool.status();
  }
}

TEST(ThreadPool, AnotherThreadMayAdoptIt) {
  const auto pool = MakePool(2);
  std::jthread other([&] {
    pool->Adopt();
    EXPECT_TRUE(pool->ParallelFor(3, [](size_t) { return absl::OkStatus(); }).ok());
  });
}

TEST(ThreadPoolDeathTest, ATaskCannotUseItsOwnPool) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto pool = MakePool(1);
        (void)pool->ParallelFor(1, [&](size_t) {
          return pool->ParallelFor(1, [](size_t) { return absl::OkStatus(); });
        });
      },
      "owner_");
}

// Ends the process: 0 when a pool too large for the machine is refused as promised. Stacks of
// 64 TiB fill any address space after a few threads, for root and under sanitizers too.
void AskForTooManyThreads() {
  pthread_attr_t huge;
  pthread_attr_init(&huge);
  if (pthread_attr_setstacksize(&huge, size_t{1} << 46) != 0) std::_Exit(2);
  if (pthread_setattr_default_np(&huge) != 0) std::_Exit(3);
  const auto pool = ThreadPool::Create({.name = "many", .threads = 1000});
  const bool as_promised = absl::IsResourceExhausted(pool.status()) &&
                           pool.status().message().find("of 1000") != std::string::npos;
  std::_Exit(as_promised ? 0 : 1);
}

TEST(ThreadPoolDeathTest, NoMoreThreadsIsResourceExhausted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(AskForTooManyThreads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace horizon
