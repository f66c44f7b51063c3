#pragma once

#include <string_view>

namespace horizon {

// SIGINT, SIGTERM and SIGUSR1 (which schedulers send before the time is up) as a flag. While one of
// these lives, the first of the signals is only noted: long work asks requested() where it can stop
// and leave things whole. The next one, of either kind, gets the default action back and is raised
// again, so that the program stops at once, as if nobody had listened. A signal that was ignored
// when the object was made (a job in the background of a script) stays ignored. The destructor puts
// back what was there before.
//
// A handler has no object to reach, so there is one flag in a process and one StopSignals at a
// time: a second one alive is a CHECK. A new one starts unrequested. Made and destroyed by one
// thread; the rest may be called by any, and the signals may arrive in any.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Once true, true for the life of the object. Costs a load.
  bool requested() const;
  // The first signal, "SIGINT", "SIGTERM" or "SIGUSR1"; "" when there was none.
  std::string_view name() const;
};

}  // namespace horizon
