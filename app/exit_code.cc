#include "app/exit_code.h"

#include "common/failure_source.h"
#include "common/files/io.h"

namespace horizon {
namespace {

ExitCode ExitCodeOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return ExitCode::kMisuse;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kCapacity;
    case absl::StatusCode::kDataLoss:
      return ExitCode::kCorrupt;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kWatchdog;
    case absl::StatusCode::kCancelled:
      return ExitCode::kPreemptedSaved;
    default:
      return ExitCode::kFailure;
  }
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  // A file that is not there was misnamed by the user; every other failed file call is I/O.
  if (IoErrno(status) != 0 && !absl::IsNotFound(status)) return ExitCode::kInputOutput;
  switch (FailureSourceOf(status)) {
    case FailureSource::kNumerics:
      return ExitCode::kNumerics;
    case FailureSource::kDevice:
      // Out of device memory stays a question of capacity.
      if (absl::IsUnavailable(status) || absl::IsInternal(status)) return ExitCode::kDevice;
      break;
    case FailureSource::kOther:
      break;
  }
  return ExitCodeOfCode(status.code());
}

}  // namespace horizon
