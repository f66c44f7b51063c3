#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace horizon {

// The threads that run the host kernels of one schedule lane. A kernel splits its work into pieces
// by shape alone, and the workers process them:
//   workers.Run(rows, [&](int64_t row, int worker) { ... });
// Which worker processes which piece never changes a result.
class Workers {
 public:
  // `piece` is 0 to pieces - 1. `worker` is 0 to count() - 1; a piece may use the scratch memory of
  // its worker (KernelContext::ScratchOf).
  using Body = absl::FunctionRef<void(int64_t piece, int worker)>;

  // Makes `count` workers (1 to 1024). The thread that calls Run is one of them; count - 1 threads
  // named "name-1", "name-2", ... are started. InvalidArgument for a bad count; ResourceExhausted
  // if the system has no more threads.
  static absl::StatusOr<std::unique_ptr<Workers>> Create(const std::string& name, int count);
  // One worker: the thread that calls Run.
  static std::unique_ptr<Workers> Inline();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  // Calls `body` once for every piece and returns when all calls have returned. Only one thread may
  // call Run at a time, and `body` must not call it. Run allocates nothing.
  void Run(int64_t pieces, Body body);
  int count() const;

 private:
  struct Shared;
  explicit Workers(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace horizon
