#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/frozen_tensor.h"
#include "runtime/export/export_model.h"
#include "training/training_context.h"
#include "training/training_settings.h"

namespace horizon {

// Writes the trained model into RUN/model, with what the run has kept of the model it began with.
// The model of a run that was trained further takes the place of the older one, which stays if
// writing fails. `frozen`: the checksums of the tensors that `values` lacks; they come from the
// weights that the run began with.
absl::Status ExportTrained(const TrainingContext& context, const TrainingSettings& settings,
                           const LoadedModel& model, ModelValues& values,
                           const std::vector<FrozenTensor>& frozen);

// The same into a new folder anywhere. `base` is a folder with the files that belong to the model
// (RUN/base or the model's own), or empty: then there are none.
struct ExportPlace {
  const std::string& folder;
  std::string base;
  const std::vector<FrozenTensor>& frozen;
};
absl::Status ExportInto(const TrainingContext& context, const TrainingSettings& settings,
                        const LoadedModel& model, ModelValues& values, const ExportPlace& place);

}  // namespace horizon
