#pragma once

#include "absl/status/status.h"

namespace horizon {

// What the process tells its caller. Scripts depend on these numbers: they never change meaning.
enum class ExitCode {
  kOk = 0,
  kFailure = 1,          // any other failure
  kMisuse = 2,           // bad option, argument or configuration; something named is not there
  kCapacity = 3,         // does not fit the memory, disk or limit it was given
  kCorrupt = 4,          // an input file is damaged
  kDevice = 5,           // the accelerator or its driver failed
  kInputOutput = 6,      // reading or writing failed
  kNumerics = 7,         // a loss or gradient was not finite
  kWatchdog = 8,         // something took far longer than it may
  kPreemptedSaved = 75,  // stopped by a signal, nothing is lost; start again to go on
};

// The one table from Status to exit code. Where an error came from (IoErrno, FailureSourceOf)
// decides before its code does: a full disk is an I/O error though its code is ResourceExhausted.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace horizon
