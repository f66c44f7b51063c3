#pragma once

#include <string>
#include <string_view>

namespace horizon {

// Turns the signals that ask a program to stop into a flag, so that long work can stop at a point
// where its files are consistent:
//   StopSignals signals;
//   while (!done && !signals.requested()) Step();
// The signals are SIGINT, SIGTERM, SIGHUP (the terminal was closed) and SIGUSR1 (which cluster
// schedulers send before a job's time is up).
//
// While a StopSignals exists, the first of these signals only sets the flag. The second one, of
// whichever kind, restores its default action and is raised again, so the program stops at once.
// SIGHUP is the exception: as a later signal it is ignored, since closing a terminal sends two or
// three of them. A signal that was already ignored when the object was created (under nohup, or in
// a background job of a script) stays ignored. The destructor restores the previous handlers.
//
// A signal handler cannot reach an object, so the flag is global: a process has at most one
// StopSignals at a time (CHECK), and a new one starts with the flag unset. One thread creates and
// destroys it; any thread may call the other functions, and signals may arrive in any thread.
class StopSignals {
 public:
  // For work that has nothing to save yet: until NoteOnly() is called, the first signal ends the
  // process at once with this exit code, whatever its threads are doing. It writes one line to
  // standard error: `before`, the signal's name, `after` and a newline, cut to kLongestLine bytes.
  struct EndAtOnce {
    std::string before;
    std::string after;
    int exit_code = 1;
  };
  static constexpr size_t kLongestLine = 1000;

  StopSignals();
  explicit StopSignals(const EndAtOnce& end);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // From now on a first signal only sets the flag. No signal is lost: one that arrives before this
  // call ends the process, a later one makes requested() true.
  void NoteOnly();
  // Whether a signal has arrived. Once true, it stays true for the life of the object. It costs one
  // atomic load.
  bool requested() const;
  // The name of the first signal, such as "SIGTERM"; "" if there was none.
  std::string_view name() const;
};

// Ignores SIGPIPE and SIGXFSZ for the life of the process, so that a write to a closed pipe fails
// with EPIPE, and a write past the file size limit (`ulimit -f`) with EFBIG, instead of ending the
// process. Call it before anything is written.
void IgnoreWriteSignals();

}  // namespace horizon
