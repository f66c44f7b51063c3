#pragma once

#include <functional>
#include <string>
#include <vector>

namespace horizon {

// Runs the program on a pseudo-terminal of its own, in the folder of RunShell.
class PtyProgram {
 public:
  // `environment` is its whole environment: {"TERM=xterm", "LANG=C.UTF-8"}.
  PtyProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
             int columns, int rows);
  ~PtyProgram();
  PtyProgram(const PtyProgram&) = delete;
  PtyProgram& operator=(const PtyProgram&) = delete;

  void Type(const std::string& keys);
  void Resize(int columns, int rows);
  void Signal(int number);
  // Reads the output until `done` returns true (it checks text()), the program ends, or a minute
  // has passed, which fails the test.
  void ReadUntil(const std::function<bool()>& done);
  // Reads until the program ends. Returns its exit code, or 128 + the number of the signal that
  // ended it.
  int AwaitEnd();
  // Everything the program has written since the start or the last Forget().
  const std::string& text() const { return text_; }
  void Forget() { text_.clear(); }
  // Whether the terminal echoes typed keys, as it does at a shell prompt.
  bool Echoes() const;

 private:
  int terminal_ = -1;
  int process_ = -1;
  std::string text_;
  bool ended_ = false;
};

}  // namespace horizon
