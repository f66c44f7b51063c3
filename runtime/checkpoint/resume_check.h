#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/checkpoint/manifest.h"
#include "schedule/training_job.h"

namespace horizon {

// The settings that the user gave for a run that resumes, to be compared with those that the
// checkpoint was saved with.
struct AskedRun {
  const TrainingJob& job;
  std::string_view model_fingerprint;
  std::string_view data_fingerprint;
  const std::vector<std::string>& trained;  // names of the tensors it trains (TrainedNames)
};

// Lists the differences that would change the numbers, one line each: field, saved value, asked
// value, and what to do. Empty when the run continues exactly. The plan may differ, and so may
//   data, model   as paths, where the fingerprints agree: files move
//   train, freeze as patterns, where they select the same tensors
//   steps         where the learning rates of the steps done do not depend on it: with a constant
//                 schedule, or in the warm-up; but not below the checkpoint's own step
//   epochs        as the steps they come to
//   sample_lengths, which only predictions read
// A job whose schedule_start is the checkpoint's step begins a new learning-rate schedule there: it
// may have other values of everything that makes up the schedule (SameSchedule).
std::vector<std::string> DescribeDifferences(const Manifest& saved, const AskedRun& asked);

// Whether two jobs have the same learning-rate schedule, but for where it starts: kind, learning
// rate, warm-up and number of steps.
bool SameSchedule(const TrainingJob& a, const TrainingJob& b);

// InvalidArgument with those lines, or when the checkpoint holds only weights. `path` is the
// checkpoint's, for messages.
absl::Status CheckResumable(const std::string& path, const Manifest& saved, const AskedRun& asked);

// Checks that a run continues with the frozen tensors that its trained tensors belong to. `began`
// are those that the run began with, `found` those of the model that was given now. InvalidArgument
// names the first tensor that differs. `run` is the path of the checkpoint or run, for messages.
absl::Status CheckFrozenBase(const std::string& run, const std::vector<FrozenTensor>& began,
                             const std::vector<FrozenTensor>& found);

}  // namespace horizon
