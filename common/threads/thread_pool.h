#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/threads/bounded_queue.h"

namespace horizon {

// Options of ThreadPool::Create.
struct ThreadPoolOptions {
  std::string name;  // threads are named "name-0", "name-1", ...; the name is cut to fit 15 bytes
  int threads = 1;   // 1 to 1024
  size_t waiting = 256;  // tasks that may be queued (>= 1) before Submit blocks
};

// A fixed set of threads that work for one owner: the thread that created the pool, or the one that
// called Adopt last. Only the owner may submit tasks (CHECK), so a task cannot submit to its own
// pool and wait for itself. If a task throws, the exception becomes its Status.
class ThreadPool {
 public:
  using Task = std::function<absl::Status(std::stop_token)>;

  // InvalidArgument for a bad count; ResourceExhausted if the system has no more threads.
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Create(const ThreadPoolOptions& options);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // Asks running tasks to stop through their stop token, completes queued ones with Cancelled, and
  // joins the threads.
  ~ThreadPool();

  // Runs `task` on one of the threads; blocks while too many tasks are queued. The future always
  // receives a Status.
  std::future<absl::Status> Submit(Task task);

  // Calls function(0) ... function(count - 1), each exactly once, on the pool's threads, and
  // returns when all are done. The caller splits its work by index alone, so results do not depend
  // on the number of threads. After an error no further index is started; the error returned is the
  // one of the lowest index that fails, as in a plain loop.
  absl::Status ParallelFor(size_t count, const std::function<absl::Status(size_t)>& function);

  // Makes the calling thread the owner. No task of the previous owner may be queued or running.
  void Adopt() { owner_ = std::this_thread::get_id(); }
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  using Job = std::function<void(std::stop_token)>;
  explicit ThreadPool(size_t waiting) : jobs_(waiting) {}
  absl::Status Start(const ThreadPoolOptions& options);

  std::thread::id owner_ = std::this_thread::get_id();  // written by Adopt only
  BoundedQueue<Job> jobs_;
  std::vector<std::jthread> threads_;  // last: they use the queue
};

}  // namespace horizon
