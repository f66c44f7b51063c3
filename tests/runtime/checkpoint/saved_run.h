#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/files/io.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/run_lock.h"

namespace horizon {

// A small run whose state at every step is made by rule, so that tests can save it and know what
// they must find.

// Odd sizes: one value, none, one block of moments and a bit, and one of several pages.
std::vector<SavedTensor> SmallTensors();
// Of SmallTensors; `max_shard` small enough makes several files of a kind.
CheckpointLayout SmallLayout(StateFormat format = StateFormat::kFp32,
                             SaveMode mode = SaveMode::kFull,
                             Bytes max_shard = kMaxCheckpointShard);
// Different in every field from the defaults.
CheckpointFacts SmallFacts(int64_t step, StateFormat format = StateFormat::kFp32);

// The bytes of an entry at a step: different in every entry and step.
std::vector<std::byte> StateBytes(const CheckpointLayout& layout, size_t entry, int64_t step);

// Saves a step through `io`: the entries last to first, each in three pieces out of order.
absl::Status SaveStep(Io& io, const RunLock& lock, const CheckpointLayout& layout, int64_t step);

// DataLoss unless the folder holds exactly that step of `layout`, to the last byte.
absl::Status CheckSaved(Io& io, const std::string& path, const CheckpointLayout& layout,
                        int64_t step);

// RUN with committed checkpoints of these steps.
absl::Status MakeRun(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                     const std::vector<int64_t>& steps);

}  // namespace horizon
