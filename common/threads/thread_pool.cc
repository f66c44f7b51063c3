#include "common/threads/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/start_thread.h"

namespace horizon {
namespace {

constexpr int kMostThreads = 1024;
constexpr size_t kLongestThreadName = 15;

// The one place where an exception of a task (or of a library it uses) ends.
template <typename Function>
absl::Status Guarded(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory in a task of a thread pool");
  } catch (const std::exception& error) {
    return absl::InternalError(StrCat("a task of a thread pool threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("a task of a thread pool threw something that is no exception");
  }
}

// Cuts the pool's name, never the number, to what the kernel takes.
std::string ThreadName(const std::string& pool, int index) {
  const std::string number = StrCat("-", index);
  return pool.substr(0, kLongestThreadName - number.size()) + number;
}

// One ParallelFor under way, on the owner's stack; the threads leave it before it ends.
class Loop {
 public:
  Loop(size_t count, size_t workers, const std::function<absl::Status(size_t)>& function)
      : count_(count), working_(workers), function_(function) {}

  // Indices are begun in rising order, so when one fails all lower ones have been begun, and the
  // lowest failing index is found whatever the threads' timing.
  void Work() {
    while (!failed_) {
      const size_t index = next_++;
      if (index >= count_) break;
      absl::Status status = Guarded([&] { return function_(index); });
      if (!status.ok()) Keep(index, std::move(status));
    }
    const std::scoped_lock lock(mutex_);
    --working_;
    done_.notify_all();
  }

  absl::Status Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return working_ == 0; });
    return error_;
  }

 private:
  void Keep(size_t index, absl::Status status) {
    const std::scoped_lock lock(mutex_);
    if (error_.ok() || index < error_index_) {
      error_ = std::move(status);
      error_index_ = index;
    }
    failed_ = true;
  }

  const size_t count_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  size_t working_;          // guarded by mutex_
  absl::Status error_;      // guarded by mutex_
  size_t error_index_ = 0;  // guarded by mutex_
  const std::function<absl::Status(size_t)>& function_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const ThreadPoolOptions& options) {
  if (options.threads < 1 || options.threads > kMostThreads || options.waiting == 0) {
    return absl::InvalidArgumentError(StrCat(
        "thread pool '", options.name, "': ", options.threads, " threads with ", options.waiting,
        " waiting tasks; 1 to ", kMostThreads, " threads and at least 1 task are possible"));
  }
  std::unique_ptr<ThreadPool> pool(new ThreadPool(options.waiting));
  RETURN_IF_ERROR(pool->Start(options));
  return pool;
}

absl::Status ThreadPool::Start(const ThreadPoolOptions& options) {
  threads_.reserve(static_cast<size_t>(options.threads));
  for (int i = 0; i < options.threads; ++i) {
    absl::StatusOr<std::jthread> thread =
        StartThread(ThreadName(options.name, i), [this](const std::stop_token& stop) {
          while (std::optional<Job> job = jobs_.Pop()) (*job)(stop);
        });
    if (!thread.ok()) {
      return absl::ResourceExhaustedError(
          StrCat("thread ", i + 1, " of ", options.threads, ": ", thread.status().message()));
    }
    threads_.push_back(*std::move(thread));
  }
  return absl::OkStatus();
}

ThreadPool::~ThreadPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
  jobs_.Close();
  threads_.clear();
}

std::future<absl::Status> ThreadPool::Submit(Task task) {
  CHECK(std::this_thread::get_id() == owner_);
  auto promise = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> result = promise->get_future();
  const bool pushed = jobs_.Push([task = std::move(task), promise](const std::stop_token& stop) {
    promise->set_value(stop.stop_requested()
                           ? absl::CancelledError("the thread pool ended before the task began")
                           : Guarded([&] { return task(stop); }));
  });
  CHECK(pushed);
  return result;
}

absl::Status ThreadPool::ParallelFor(size_t count,
                                     const std::function<absl::Status(size_t)>& function) {
  CHECK(std::this_thread::get_id() == owner_);
  const size_t workers = std::min(count, threads_.size());
  if (workers == 0) return absl::OkStatus();
  Loop loop(count, workers, function);
  for (size_t i = 0; i < workers; ++i) {
    const bool pushed = jobs_.Push([&loop](const std::stop_token&) { loop.Work(); });
    CHECK(pushed);
  }
  return loop.Wait();
}

}  // namespace horizon
