#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// A terminal in full-screen mode, for a picture that is redrawn in place. While the object lives,
// the terminal shows its alternate screen, the cursor is hidden, and keys arrive one by one without
// an echo. Its destructor restores the terminal. Ctrl-C stays a signal (see StopSignals); Ctrl-Z
// and Ctrl-\ do nothing, since they would leave the terminal in this mode. One thread; one object
// at a time. screen.cc is the only file that queries the terminal.
class Screen {
 public:
  // Writes the picture to standard output.
  using Write = std::function<absl::Status(std::string_view)>;
  struct Size {
    int columns = 80;
    int rows = 24;
    friend bool operator==(const Size&, const Size&) = default;
  };
  enum class Key { kNone, kOther, kQuit, kClosed };  // kQuit: q or Q; kClosed: the input has ended

  // FailedPrecondition if standard input or standard output is not a terminal.
  static absl::StatusOr<std::unique_ptr<Screen>> Open(Write write);
  virtual ~Screen() = default;

  // The present size; a window may be resized at any time.
  virtual Size size() const = 0;
  // Replaces the picture by these lines. They must fit the size.
  virtual absl::Status Draw(const std::vector<std::string>& lines) = 0;
  // Waits for the next key, at most for `most`; a signal ends the wait.
  virtual Key AwaitKey(std::chrono::milliseconds most) = 0;
};

// Whether standard output is a terminal, and its size if it is one.
bool OutputIsTerminal();
Screen::Size OutputSize();

}  // namespace horizon
