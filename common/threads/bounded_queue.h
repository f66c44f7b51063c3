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

// Hands items from threads to threads in order, at most `capacity` (> 0) waiting: a fast producer
// is held back instead of filling memory. Any number of producers and consumers. The queue must
// outlive every call on it.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { CHECK(capacity > 0); }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Blocks while full. False, and the item is dropped, once the queue is closed or `stop`
  // requested.
  bool Push(T item, std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    const bool woken =
        room_.wait(lock, std::move(stop), [&] { return closed_ || items_.size() < capacity_; });
    if (!woken || closed_) return false;
    items_.push_back(std::move(item));
    filled_.notify_one();
    return true;
  }

  // The oldest item; blocks while empty. A closed queue first gives what it still holds, then
  // nothing. Nothing as well once `stop` is requested while it is empty.
  std::optional<T> Pop(std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, std::move(stop), [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    room_.notify_one();
    return item;
  }

  // No more items come: wakes every waiting thread. May be called more than once.
  void Close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    room_.notify_all();
    filled_.notify_all();
  }

  size_t capacity() const { return capacity_; }
  // How many wait at this moment; another thread may change it at once.
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
