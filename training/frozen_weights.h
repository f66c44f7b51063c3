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

// A frozen tensor is one that a run does not train. Checkpoints hold only the checksums of frozen
// tensors. When a run is resumed or its model is exported, their values are read again from the
// weights that the run began with.

// Fills the frozen tensors of the parameter store of a run that resumes from `checkpoint`, whose
// manifest is `saved`. InvalidArgument, naming a tensor, if the weights are not those that the run
// began with (CheckFrozenBase); otherwise errors of reading the weights. Opens nothing if no tensor
// is frozen.
absl::Status FillFrozen(Io& io, const WeightSource& source, const ModelSpec& spec,
                        const std::string& checkpoint, const Manifest& saved,
                        ParameterStore& store);

// A run with frozen tensors, for OpenFrozen.
struct FrozenRun {
  const std::string& path;  // of the run or its checkpoint, for messages
  const TrainingJob& job;
  const std::vector<FrozenTensor>& initial_checksums;  // taken when the run began
};
// Opens the weights from which an export reads the frozen tensors of a run, and checks them against
// the run's checksums: InvalidArgument as above. Returns nullopt, and opens nothing, if there are
// no checksums. `spec` must outlive the result.
absl::StatusOr<std::optional<FrozenWeights>> OpenFrozen(Io& io, const WeightSource& source,
                                                        const ModelSpec& spec,
                                                        const FrozenRun& run);

// Writes RUN/base/weights.json, which says where the initial weights are, for a later export of the
// run.
absl::Status WriteWeightSource(Io& io, const std::string& run_folder, const WeightSource& source);
// Reads that file. NotFound if the run has none, because it froze nothing.
absl::StatusOr<WeightSource> ReadWeightSource(Io& io, const std::string& run_folder);

}  // namespace horizon
