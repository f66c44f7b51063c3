#include "common/threads/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace horizon {
namespace {

TEST(BoundedQueue, GivesItemsInOrder) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Push(i));
  EXPECT_EQ(queue.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.capacity(), 3u);
}

TEST(BoundedQueue, CarriesItemsThatOnlyMove) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.Push(std::make_unique<int>(7)));
  const auto item = queue.Pop();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(**item, 7);
}

TEST(BoundedQueue, AProducerNeverGetsMoreThanTheCapacityAhead) {
  constexpr int kItems = 20'000;
  for (const size_t capacity : {size_t{1}, size_t{2}, size_t{7}}) {
    BoundedQueue<int> queue(capacity);
    std::atomic<int> taken = 0;
    std::atomic<int> farthest = 0;
    std::jthread producer([&] {
      for (int i = 0; i < kItems; ++i) {
        ASSERT_TRUE(queue.Push(i));
        farthest = std::max(farthest.load(), i + 1 - taken.load());
      }
      queue.Close();
    });
    int expected = 0;
    while (const std::optional<int> item = queue.Pop()) {
      ASSERT_EQ(*item, expected++);
      ASSERT_LE(queue.size(), capacity);
      ++taken;
    }
    producer.join();
    EXPECT_EQ(expected, kItems);
    // One more may be in the consumer's hands, popped and not yet counted.
    EXPECT_LE(farthest, static_cast<int>(capacity) + 1);
  }
}

TEST(BoundedQueue, ManyProducersAndConsumersLoseAndRepeatNothing) {
  constexpr int kThreads = 4;
  constexpr int kItems = 5'000;
  BoundedQueue<int> queue(3);
  std::vector<std::vector<int>> got(kThreads);
  {
    std::vector<std::jthread> consumers;
    consumers.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      consumers.emplace_back([&, t] {
        while (const std::optional<int> item = queue.Pop()) got[t].push_back(*item);
      });
    }
    {
      std::vector<std::jthread> producers;
      producers.reserve(kThreads);
      for (int t = 0; t < kThreads; ++t) {
        producers.emplace_back([&, t] {
          for (int i = 0; i < kItems; ++i) ASSERT_TRUE(queue.Push(t * kItems + i));
        });
      }
    }
    queue.Close();
  }
  std::vector<int> all;
  for (const std::vector<int>& part : got) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  std::vector<int> expected(size_t{kThreads} * kItems);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(BoundedQueue, AClosedQueueGivesWhatItHoldsAndTakesNothing) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  queue.Close();
  queue.Close();
  EXPECT_FALSE(queue.Push(3));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

// These would hang if a waiting thread were not woken. Whether the thread already waits when the
// queue is closed is up to the scheduler; both orders must end the same way.
TEST(BoundedQueue, CloseWakesEveryWaitingThread) {
  for (int round = 0; round < 200; ++round) {
    BoundedQueue<int> empty(1);
    BoundedQueue<int> full(1);
    ASSERT_TRUE(full.Push(0));
    std::atomic<int> ended = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] { ended += empty.Pop() == std::nullopt ? 1 : 0; });
        threads.emplace_back([&] { ended += full.Push(1) ? 0 : 1; });
      }
      empty.Close();
      full.Close();
    }
    EXPECT_EQ(ended, 4);
    EXPECT_EQ(full.size(), 1u);
  }
}

TEST(BoundedQueue, ARequestToStopWakesWaitingThreads) {
  for (int round = 0; round < 200; ++round) {
    BoundedQueue<int> empty(1);
    BoundedQueue<int> full(1);
    ASSERT_TRUE(full.Push(0));
    std::atomic<int> ended = 0;
    {
      std::jthread popper(
          [&](const std::stop_token& stop) { ended += empty.Pop(stop) == std::nullopt ? 1 : 0; });
      std::jthread pusher(
          [&](const std::stop_token& stop) { ended += full.Push(1, stop) ? 0 : 1; });
    }
    EXPECT_EQ(ended, 2);
    // The queues themselves go on.
    EXPECT_EQ(full.Pop(), 0);
    EXPECT_TRUE(empty.Push(5));
    EXPECT_EQ(empty.Pop(), 5);
  }
}

}  // namespace
}  // namespace horizon
