#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/checkpoint/manifest.h"
#include "schedule/training_job.h"

namespace horizon {

// What a run that resumes was asked for, to be held against what the checkpoint was saved with.
struct AskedRun {
  const TrainingJob& job;
  std::string_view model_fingerprint;
  std::string_view data_fingerprint;
  const std::vector<std::string>& trained;  // names of the tensors it trains (TrainedNames)
};

// One line for each difference that changes the numbers: field, saved, asked, and what to do. Empty
// when the run goes on exactly. The plan may differ, and so may
//   data, model   as paths, where the fingerprints agree: files move
//   train, freeze as patterns, where they select the same tensors
//   steps         with a constant learning rate, which does not depend on it; not below the
//                 checkpoint's own step
std::vector<std::string> DescribeDifferences(const Manifest& saved, const AskedRun& asked);

// InvalidArgument with those lines; or when the checkpoint holds weights alone. `path` is the
// checkpoint's, for messages.
absl::Status CheckResumable(const std::string& path, const Manifest& saved, const AskedRun& asked);

// InvalidArgument, naming the first tensor that differs, when the frozen tensors that were `found`
// in the model that a run was given are not those it began with, which its trained ones go with.
// `run` is the checkpoint's path or the run's, for messages.
absl::Status CheckFrozenBase(const std::string& run, const std::vector<FrozenTensor>& began,
                             const std::vector<FrozenTensor>& found);

}  // namespace horizon
