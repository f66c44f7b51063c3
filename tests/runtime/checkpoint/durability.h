#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/files/io.h"
#include "runtime/checkpoint/checkpoint_layout.h"

namespace horizon {

// What the tests of K1, K2, K5 and K6 do and must find, whatever interrupted them.

// What a process that trains does for one step: lock, save, prune to `keep`.
absl::Status SaveAndPrune(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                          int64_t step, int64_t keep = 2);

// What a process that comes after finds: every committed checkpoint is whole to the last byte, the
// highest is at least `least_newest`, and there are at least `least_count`. "" or what is wrong.
std::string ProblemOfRun(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                         int64_t least_newest, size_t least_count = 2);

// The same, and that process can go on: saving step `next` works, and afterwards nothing temporary
// is left.
std::string ProblemOfGoingOn(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                             int64_t least_newest, int64_t next);

}  // namespace horizon
