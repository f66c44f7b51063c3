#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// Start files are the files that a run writes into its folder before its first step: job.json,
// train.yaml, the plan, the prediction and base/. They are worthless if the start fails or is
// killed, and must not block the next start.

// Whether a new run in `folder` would lose nothing: the folder is missing or empty, or holds only
// start files of a run that did no step. False if it holds any other file, ours or not.
absl::StatusOr<bool> HoldsNoRun(Io& io, const std::string& folder);

// Removes the start files of a folder that holds no run, except for its lock. The caller must hold
// the lock.
absl::Status RemoveStartFiles(Io& io, const std::string& folder);

// Undoes a start that fails: unless Keep was called, its destructor removes the start files and the
// lock file, and also the folder if the start had created it. Destroy it while the folder is
// locked.
class StartGuard {
 public:
  enum class Folder { kMade, kWasThere };
  // `was` says whether this start created the folder. `io` must outlive the guard.
  StartGuard(Io& io, std::string folder, Folder was);
  ~StartGuard();
  StartGuard(const StartGuard&) = delete;
  StartGuard& operator=(const StartGuard&) = delete;

  void Keep() { keep_ = true; }

 private:
  Io& io_;
  const std::string folder_;
  const Folder was_;
  bool keep_ = false;
};

}  // namespace horizon
