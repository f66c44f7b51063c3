#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace horizon {

// The threads of one lane. A kernel cuts its work into pieces that depend on shapes alone and has
// the workers take them; which worker takes which piece never changes a result.
class Workers {
 public:
  // `piece`: 0 .. pieces - 1. `worker`: 0 .. count() - 1, so that a piece can use scratch of its
  // own.
  using Body = absl::FunctionRef<void(int64_t piece, int worker)>;

  // `count` workers (1..1024), the calling thread among them: count - 1 threads called "name-1",
  // "name-2", ... are started. ResourceExhausted when the system gives no more threads.
  static absl::StatusOr<std::unique_ptr<Workers>> Create(const std::string& name, int count);
  // One worker, the caller itself.
  static std::unique_ptr<Workers> Inline();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  // Calls body for every piece once and returns when all have ended. One caller at a time; a body
  // does not call Run. Nothing is allocated.
  void Run(int64_t pieces, Body body);
  int count() const;

 private:
  struct Shared;
  explicit Workers(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace horizon
