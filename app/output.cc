#include "app/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/files/io.h"
#include "common/log.h"
#include "common/text/printable.h"

namespace horizon {
namespace {

class StandardOutput : public Output {
 public:
  explicit StandardOutput(LogStyle style) : style_(style) {}
  bool on_terminal() const override { return style_ != LogStyle::kPlain; }
  bool has_colour() const override { return style_ == LogStyle::kColour; }
  absl::Status Write(std::string_view text) override { return WriteRaw(Printable(text)); }
  absl::Status WriteRaw(std::string_view text) override {
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
  const LogStyle style_;
};

}  // namespace

std::unique_ptr<Output> MakeStandardOutput(const char* no_color) {
  return std::make_unique<StandardOutput>(LogStyleFor(stdout, no_color));
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
