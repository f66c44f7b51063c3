#pragma once

#include <string>

namespace horizon {

struct ProcessResult {
  int exit_code = -1;  // 128 + the signal's number when one ended it
  std::string out;
  std::string err;
};

// Runs a shell command in a folder of its own below the test's temporary folder, where "$horizon"
// is the program under test, "$horizon_on_fake_cuda" the one with the fake CUDA (of tests that have
// it among their data), and the environment has neither NO_COLOR nor a terminal.
ProcessResult RunShell(const std::string& command);

// A file in that folder.
void WriteFile(const std::string& name, const std::string& text);

}  // namespace horizon
