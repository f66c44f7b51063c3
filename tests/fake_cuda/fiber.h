#pragma once

#include <cstddef>
#include <functional>

namespace fake_cuda {

// Runs one CUDA thread of a thread block: a function with a stack of its own that runs until it
// yields. Only the scheduler resumes a fiber, and only the running fiber yields; both happen on the
// operating system thread that holds the runtime's lock. Every switch is announced to the address
// sanitizer and the thread sanitizer. A guard page ends each stack.
class Fiber {
 public:
  // `body` starts at the first Resume and never returns.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it yields.
  void Resume();
  // Returns to the caller of Resume.
  void Yield();
  // Makes the next Resume start `body` from its beginning. Objects on the stack are not destroyed;
  // device code owns nothing.
  void Restart();

 private:
  struct Switches;  // both contexts, for the switch and for the sanitizers

  std::function<void()> body_;
  std::byte* stack_;
  Switches* switches_;
};

}  // namespace fake_cuda
