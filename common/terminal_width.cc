#include "common/terminal_width.h"

#include <sys/ioctl.h>

namespace horizon {

int TerminalColumns(std::FILE* stream) {
  const int descriptor = ::fileno(stream);
  winsize size{};
  if (descriptor == -1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace horizon
