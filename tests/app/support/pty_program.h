#pragma once

#include <functional>
#include <string>
#include <vector>

namespace horizon {

// The program on a terminal of its own, as a person has it before them. Its folder is the one of
// RunShell.
class PtyProgram {
 public:
  // `environment` is all it gets: {"TERM=xterm", "LANG=C.UTF-8"}.
  PtyProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
             int columns, int rows);
  ~PtyProgram();
  PtyProgram(const PtyProgram&) = delete;
  PtyProgram& operator=(const PtyProgram&) = delete;

  void Type(const std::string& keys);
  void Resize(int columns, int rows);
  void Signal(int number);
  // Reads what the program writes until `done` is content with text(), or the program ends, or a
  // minute has passed (which fails the test).
  void ReadUntil(const std::function<bool()>& done);
  // Reads until it ends; its exit code, 128 + the signal's number when one ended it.
  int AwaitEnd();
  // Everything it has written; Forget begins anew.
  const std::string& text() const { return text_; }
  void Forget() { text_.clear(); }
  // Whether the terminal echoes what is typed, as one at a shell's prompt does.
  bool Echoes() const;

 private:
  int terminal_ = -1;
  int process_ = -1;
  std::string text_;
  bool ended_ = false;
};

}  // namespace horizon
