#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "common/check.h"

namespace horizon {

// A first-in first-out queue between threads that holds at most `capacity` (> 0) items, so that a
// fast producer waits instead of filling memory. Any number of threads may push and pop. The queue
// must outlive every call on it.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { CHECK(capacity > 0); }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Adds an item; blocks while the queue is full. Returns false, and drops the item, if the queue
  // is closed or `stop` is requested while it is full.
  bool Push(T item, std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    const bool woken =
        room_.wait(lock, std::move(stop), [&] { return closed_ || items_.size() < capacity_; });
    if (!woken || closed_) return false;
    items_.push_back(std::move(item));
    filled_.notify_one();
    return true;
  }

  // Removes the oldest item; blocks while the queue is empty. A closed queue first returns the
  // items it still holds, then nullopt. Returns nullopt also if `stop` is requested while it is
  // empty.
  std::optional<T> Pop(std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, std::move(stop), [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    room_.notify_one();
    return item;
  }

  // Ends the queue: later pushes fail, and every waiting thread wakes. May be called more than
  // once.
  void Close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    room_.notify_all();
    filled_.notify_all();
  }

  size_t capacity() const { return capacity_; }
  // The number of items at this moment; another thread may change it at once.
  size_t size() const {
    const std::scoped_lock lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any room_;
  std::condition_variable_any filled_;
  std::deque<T> items_;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace horizon
