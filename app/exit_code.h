#pragma once

#include "absl/status/status.h"

namespace horizon {

// The exit codes of the process. Scripts depend on these numbers: they never change meaning.
enum class ExitCode {
  kOk = 0,
  kFailure = 1,          // any other failure
  kMisuse = 2,           // bad option, argument or configuration; something named does not exist
  kCapacity = 3,         // does not fit the available memory, disk or limit
  kCorrupt = 4,          // an input file is damaged
  kDevice = 5,           // the accelerator or its driver failed
  kInputOutput = 6,      // reading or writing failed
  kNumerics = 7,         // a loss or gradient was not finite
  kWatchdog = 8,         // an operation took far longer than allowed
  kPreemptedSaved = 75,  // stopped by a signal with its state saved; start again to go on
};

// The one table from Status to exit code. The source of an error (IoErrno, FailureSourceOf) takes
// precedence over its code: a full disk is an I/O error though its code is ResourceExhausted.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace horizon
