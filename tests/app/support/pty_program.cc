#include "tests/app/support/pty_program.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

namespace horizon {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

winsize SizeOf(int columns, int rows) {
  return {.ws_row = static_cast<unsigned short>(rows),
          .ws_col = static_cast<unsigned short>(columns),
          .ws_xpixel = 0,
          .ws_ypixel = 0};
}

}  // namespace

PtyProgram::PtyProgram(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment, int columns, int rows) {
  const std::string program = std::filesystem::absolute("app/horizon").string();
  const std::string folder = testing::TempDir() + "/work";
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  const std::vector<char*> argv = Pointers(words);
  const std::vector<char*> envp = Pointers(variables);
  winsize size = SizeOf(columns, rows);
  process_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (process_ == 0) {
    if (chdir(folder.c_str()) == 0) execve(program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  EXPECT_GT(process_, 0);
}

PtyProgram::~PtyProgram() {
  if (!ended_ && process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

void PtyProgram::Type(const std::string& keys) {
  EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void PtyProgram::Resize(int columns, int rows) {
  const winsize size = SizeOf(columns, rows);
  EXPECT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
}

void PtyProgram::Signal(int number) { EXPECT_EQ(kill(process_, number), 0); }

void PtyProgram::ReadUntil(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it never came:\n" << text_;
    pollfd waited = {.fd = terminal_, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, 1000) <= 0) continue;
    std::array<char, 4096> piece;
    const ssize_t count = read(terminal_, piece.data(), piece.size());
    // EIO: the program has closed its side.
    if (count <= 0) return;
    text_.append(piece.data(), static_cast<size_t>(count));
  }
}

int PtyProgram::AwaitEnd() {
  ReadUntil([] { return false; });
  int status = 0;
  EXPECT_EQ(waitpid(process_, &status, 0), process_);
  ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool PtyProgram::Echoes() const {
  termios state = {};
  EXPECT_EQ(tcgetattr(terminal_, &state), 0);
  return (state.c_lflag & ECHO) != 0 && (state.c_lflag & ICANON) != 0;
}

}  // namespace horizon
