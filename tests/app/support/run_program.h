#pragma once

#include <string>

namespace horizon {

// The result of a process that has ended.
struct ProcessResult {
  int exit_code = -1;  // or 128 + the number of the signal that ended it
  std::string out;
  std::string err;
};

// Runs a shell command in a folder of its own below the test's temporary folder. "$horizon" is the
// program under test; "$horizon_on_fake_cuda" is the program with the fake CUDA, for tests that
// have it among their data. The environment has no NO_COLOR, and there is no terminal.
ProcessResult RunShell(const std::string& command);

// Writes a file in that folder.
void WriteFile(const std::string& name, const std::string& text);

}  // namespace horizon
