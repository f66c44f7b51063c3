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

// A terminal taken over for a picture that is drawn again and again in place. While it lives the
// other screen is shown, the cursor is hidden and keys arrive one by one without an echo; its end,
// however the program gets there, brings back what was before. Ctrl-C stays a signal (see
// StopSignals); Ctrl-Z and Ctrl-\ do nothing, since they would leave the terminal as it is.
// One thread; one at a time. screen.cc is the only file that asks the terminal anything.
class Screen {
 public:
  // Where the picture is written: standard output, as the caller has it.
  using Write = std::function<absl::Status(std::string_view)>;
  struct Size {
    int columns = 80;
    int rows = 24;
    friend bool operator==(const Size&, const Size&) = default;
  };
  enum class Key { kNone, kOther, kQuit, kClosed };  // kQuit: q or Q; kClosed: nobody is there

  // FailedPrecondition when standard input or standard output is no terminal.
  static absl::StatusOr<std::unique_ptr<Screen>> Open(Write write);
  virtual ~Screen() = default;

  // As it is now: a window may change at any time.
  virtual Size size() const = 0;
  // Puts the lines in the place of what is there. They are at most as long and as many as the size
  // allows.
  virtual absl::Status Draw(const std::vector<std::string>& lines) = 0;
  // The next key, waiting for it as long as that; a signal ends the wait.
  virtual Key AwaitKey(std::chrono::milliseconds most) = 0;
};

// Whether standard output is a terminal, and its size where it is one.
bool OutputIsTerminal();
Screen::Size OutputSize();

}  // namespace horizon
