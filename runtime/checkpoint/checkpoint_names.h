#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace horizon {

// Names in a run folder:
//   RUN/lock                             held by the process that trains (run_lock.h)
//   RUN/checkpoints/step-00000012        a committed checkpoint
//   RUN/checkpoints/step-00000012.tmp-1  one being written or removed; resume ignores it
// No file says which checkpoint is the latest: it is the one with the highest step.

inline constexpr std::string_view kCheckpointsFolder = "checkpoints";
inline constexpr std::string_view kManifestFile = "manifest.json";
// Steps are below this, so that a step in a name never has more than 18 digits.
inline constexpr int64_t kMaxStep = 1'000'000'000'000'000'000;

// The name of a checkpoint, "step-00000012", with eight digits or more. `step` is from 0 to
// kMaxStep - 1.
std::string StepName(int64_t step);
// The step of a name that is exactly as StepName writes it; nullopt for every other name.
std::optional<int64_t> StepOfName(std::string_view name);
// The name of a temporary folder: "step-00000012.tmp-3".
std::string TemporaryName(int64_t step, int number);
// Whether the name is one of StepName's, followed by ".tmp-" and something.
bool IsTemporaryName(std::string_view name);

// The last component of a path, ignoring trailing slashes.
std::string_view BaseName(std::string_view path);

// InvalidArgument, with the reason, unless `name` can be a file beside the manifest of a
// checkpoint: a plain name of 1 to 255 printable ASCII characters without '/', not starting with a
// dot, and not manifest.json.
absl::Status CheckFileName(std::string_view name);

}  // namespace horizon
