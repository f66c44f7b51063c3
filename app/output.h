#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"

namespace horizon {

// Where a command's answer goes: standard output, or a string in tests. Nothing else is written
// there, so that an answer can be piped into another program. One thread at a time.
class Output {
 public:
  virtual ~Output() = default;
  // Writes all of `text` before it returns, as people may see it: names and values that others
  // chose are part of most answers, so control characters are escaped (Printable). An error is an
  // I/O error (IoErrno) and is the command's result: an answer that did not arrive is not an
  // answer.
  virtual absl::Status Write(std::string_view text) = 0;
  // The same, every byte as it is: for text with colours and movements of our own, in which foreign
  // text was made printable before, and for bytes that a program reads.
  virtual absl::Status WriteRaw(std::string_view text) { return Write(text); }
  // Whether a person looks at it on a terminal, and on one that shows colours.
  virtual bool on_terminal() const { return false; }
  virtual bool has_colour() const { return false; }
};

// Standard output, unbuffered: a full disk shows at the write that met it. `no_color` is the
// environment's NO_COLOR, or null.
std::unique_ptr<Output> MakeStandardOutput(const char* no_color);

// Opens what the caller left closed of standard input, output and error, so that no file of ours
// takes their place. Writing to such an output still fails. Call once, before anything is opened.
void ReserveStandardStreams();

}  // namespace horizon
