#include "report/terminal/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/files/io.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

class PosixScreen final : public Screen {
 public:
  PosixScreen(Write write, const termios& before) : write_(std::move(write)), before_(before) {}

  ~PosixScreen() override {
    // Nobody is left to tell when this fails.
    write_(kLeave).IgnoreError();
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }

  absl::Status Enter() {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;
    keys.c_cc[VQUIT] = _POSIX_VDISABLE;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys) != 0) {
      return IoError(errno, "set the terminal to give keys one by one");
    }
    return write_(kEnter);
  }

  Size size() const override { return OutputSize(); }

  absl::Status Draw(const std::vector<std::string>& lines) override {
    // Each line is cleared before it is written: behind a line that fills its row the cursor still
    // stands on the last letter, which would be cleared with the rest.
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i) {
      text += StrCat("\x1b[", i + 1, ";1H\x1b[K", lines[i]);
    }
    if (lines.size() < static_cast<size_t>(size().rows)) {
      text += StrCat("\x1b[", lines.size() + 1, ";1H\x1b[J");
    }
    return write_(text + "\x1b[H");
  }

  Key AwaitKey(std::chrono::milliseconds most) override {
    pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = poll(&keys, 1, static_cast<int>(most.count()));
    if (ready <= 0) return Key::kNone;
    char key = 0;
    const ssize_t count = ::read(STDIN_FILENO, &key, 1);
    if (count < 0 && errno == EINTR) return Key::kNone;
    if (count <= 0) return Key::kClosed;
    return key == 'q' || key == 'Q' ? Key::kQuit : Key::kOther;
  }

 private:
  const Write write_;
  const termios before_;
};

}  // namespace

bool OutputIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

Screen::Size OutputSize() {
  winsize window = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) {
    return {};
  }
  return {.columns = window.ws_col, .rows = window.ws_row};
}

absl::StatusOr<std::unique_ptr<Screen>> Screen::Open(Write write) {
  termios before = {};
  if (!OutputIsTerminal() || tcgetattr(STDIN_FILENO, &before) != 0) {
    return absl::FailedPreconditionError("standard input or standard output is no terminal");
  }
  auto screen = std::make_unique<PosixScreen>(std::move(write), before);
  if (absl::Status status = screen->Enter(); !status.ok()) return status;
  return screen;
}

}  // namespace horizon
