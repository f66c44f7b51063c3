#include "app/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/io.h"
#include "common/log.h"

namespace horizon {
namespace {

class StandardOutput : public Output {
 public:
  explicit StandardOutput(bool has_colour) : has_colour_(has_colour) {}
  bool has_colour() const override { return has_colour_; }
  absl::Status Write(std::string_view text) override {
    while (!text.empty()) {
      const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        return IoError(errno, "write the answer to standard output");
      }
      text.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }

 private:
  const bool has_colour_;
};

}  // namespace

std::unique_ptr<Output> MakeStandardOutput(const char* no_color) {
  return std::make_unique<StandardOutput>(LogStyleFor(stdout, no_color) == LogStyle::kColour);
}

void ReserveStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free descriptor is `stream` itself. Read-only for outputs: a write must fail.
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) < 0) return;
  }
}

}  // namespace horizon
