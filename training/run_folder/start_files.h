#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// What a start writes into a run folder before its first step: job.json, train.yaml, the plan and
// what was predicted, base/. None of it is worth keeping when the start fails or is killed, and it
// must not be in the way of the next one.

// Whether nothing in `folder` would be lost by a new run in it: it is missing or empty, or holds
// start files only, of a run that did no step. Anything else in it, of ours or of others, is kept.
absl::StatusOr<bool> HoldsNoRun(Io& io, const std::string& folder);

// Removes the start files of a folder that holds no run, but for its lock. For the lock's holder.
absl::Status RemoveStartFiles(Io& io, const std::string& folder);

// Takes a start back when it fails: removes the start files when it is destroyed, and the folder
// too where the start had made it, unless Keep was called. Destroy it while the folder is locked.
class StartGuard {
 public:
  enum class Folder { kMade, kWasThere };
  // `io` outlives it.
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
