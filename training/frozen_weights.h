#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/model_spec.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/export/export_model.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/training_job.h"
#include "training/initial_weights.h"

namespace horizon {

// Tensors that a run does not train are in none of its checkpoints: they are read from the weights
// that the run began with, when it goes on and when its model is exported.

// Fills the frozen tensors of a store that goes on from a checkpoint. InvalidArgument, naming a
// tensor, where they are not those that the run began with (CheckFrozenBase); else errors of the
// source. Nothing is opened where nothing is frozen.
absl::Status FillFrozen(Io& io, const WeightSource& source, const ModelSpec& spec,
                        const std::string& checkpoint, const Manifest& saved,
                        ParameterStore& store);

// What an export of a run takes its frozen tensors from, once they are checked against `began`: the
// checksums of when the run began. Nothing is opened where that is empty. `spec` outlives it.
struct FrozenRun {
  const std::string& path;  // for messages
  const TrainingJob& job;
  const std::vector<FrozenTensor>& began;
};
absl::StatusOr<std::optional<FrozenWeights>> OpenFrozen(Io& io, const WeightSource& source,
                                                        const ModelSpec& spec,
                                                        const FrozenRun& run);

// RUN/base/weights.json says where these weights are, for whoever exports the run later.
absl::Status KeepWeightSource(Io& io, const std::string& run_folder, const WeightSource& source);
// NotFound where the run has none: it froze nothing.
absl::StatusOr<WeightSource> ReadWeightSource(Io& io, const std::string& run_folder);

}  // namespace horizon
