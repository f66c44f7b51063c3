#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"

namespace horizon {

// Receives a command's answer: standard output, or a string in tests. Nothing else is written to
// it, so that an answer can be piped into another program. One thread at a time.
class Output {
 public:
  virtual ~Output() = default;
  // Writes all of `text` before it returns. Control characters are escaped (Printable), since most
  // answers contain names and values that others chose. An error is an I/O error (IoErrno); the
  // command returns it, since its answer did not arrive.
  virtual absl::Status Write(std::string_view text) = 0;
  // Writes every byte unchanged. For text with our own colours and cursor movements, in which text
  // of others is already escaped, and for bytes that a program reads.
  virtual absl::Status WriteRaw(std::string_view text) { return Write(text); }
  // Whether the output is a terminal, and whether it is one that shows colours.
  virtual bool on_terminal() const { return false; }
  virtual bool has_colour() const { return false; }
};

// Standard output, unbuffered: the write that meets a full disk fails. `no_color` is the value of
// NO_COLOR in the environment, or null.
std::unique_ptr<Output> MakeStandardOutput(const char* no_color);

// Occupies the descriptors of standard input, output and error that the parent process left closed,
// so that no file of ours gets one of them. Writing to such an output still fails. Call once,
// before anything is opened.
void ReserveStandardStreams();

}  // namespace horizon
