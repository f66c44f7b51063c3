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
// There is no file that says which is the latest: the highest step is.

inline constexpr std::string_view kCheckpointsFolder = "checkpoints";
inline constexpr std::string_view kManifestFile = "manifest.json";
// Steps are below this, so that a name never takes more than 18 digits.
inline constexpr int64_t kMaxStep = 1'000'000'000'000'000'000;

// "step-00000012": eight digits or more. `step` from 0 to kMaxStep - 1.
std::string StepName(int64_t step);
// The step of a name exactly as StepName writes it; nullopt for every other name.
std::optional<int64_t> StepOfName(std::string_view name);
// "step-00000012.tmp-3".
std::string TemporaryName(int64_t step, int number);
// Whether the name is StepName's, ".tmp-" and something.
bool IsTemporaryName(std::string_view name);

// The last part of a path, trailing slashes aside.
std::string_view BaseName(std::string_view path);

// InvalidArgument, with the reason, unless `name` can be a file of a checkpoint beside its
// manifest: a plain name of 1 to 255 printable ASCII characters without '/', not starting with a
// dot, not manifest.json.
absl::Status CheckFileName(std::string_view name);

}  // namespace horizon
