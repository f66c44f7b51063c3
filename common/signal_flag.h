#pragma once

#include <string>
#include <string_view>

namespace horizon {

// SIGINT, SIGTERM, SIGHUP (a closed terminal) and SIGUSR1 (which schedulers send before the time is
// up) as a flag. While one of these lives, the first of the signals is only noted: long work asks
// requested() where it can stop and leave things whole. The next one, of whichever kind, gets the
// default action back and is raised again, so that the program stops at once, as if nobody had
// listened; except SIGHUP, since a terminal that is closed sends it two or three times. A signal
// that was ignored when the object was made (a job in the background of a script, nohup) stays
// ignored. The destructor puts back what was there before.
//
// A handler has no object to reach, so there is one flag in a process and one StopSignals at a
// time: a second one alive is a CHECK. A new one starts unrequested. Made and destroyed by one
// thread; the rest may be called by any, and the signals may arrive in any.
class StopSignals {
 public:
  // For work that has nothing to save yet: until NoteOnly() is called, the first signal ends the
  // process at once with this exit code, whatever its threads are doing. Standard error gets one
  // line: `before`, the signal's name, `after` and a line feed, cut to kLongestLine bytes.
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

  // From now on signals are only noted: a signal either ended the process before, or is seen by
  // requested().
  void NoteOnly();
  // Once true, true for the life of the object. Costs a load.
  bool requested() const;
  // The first signal, such as "SIGTERM"; "" when there was none.
  std::string_view name() const;
};

// Makes a write into a closed pipe (SIGPIPE) and a write past the limit on file sizes (SIGXFSZ,
// `ulimit -f`) the errors EPIPE and EFBIG instead of the end of the process. For the life of the
// process; call before anything is written.
void IgnoreWriteSignals();

}  // namespace horizon
