#pragma once

#include <cstddef>
#include <functional>

namespace fake_cuda {

// A thread of a block: a stack of its own that runs until it yields. Only the scheduler resumes,
// only the fiber that runs yields; both on whatever thread of the system holds the runtime's lock.
// The address and the thread sanitizer are told of every switch. A stack is closed by a page
// nobody may touch.
class Fiber {
 public:
  // `body` begins at the first Resume and never returns.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it yields.
  void Resume();
  // Goes back to Resume.
  void Yield();
  // Forgets where the fiber was: the next Resume begins `body` anew. What lay on the stack is not
  // destroyed; device code owns nothing.
  void Restart();

 private:
  struct Switches;  // who is who, for the switch and for the sanitizers

  std::function<void()> body_;
  std::byte* stack_;
  Switches* switches_;
};

}  // namespace fake_cuda
