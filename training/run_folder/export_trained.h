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

// Exports the trained model to RUN/model, with the files that the run kept from its initial model
// (RUN/base). If the folder holds an older export, the new one replaces it; the older one stays if
// writing fails. `frozen` has the checksums of the tensors that are not in `values`; they are read
// from the weights that the run began with.
absl::Status ExportTrained(const TrainingContext& context, const TrainingSettings& settings,
                           const LoadedModel& model, ModelValues& values,
                           const std::vector<FrozenTensor>& frozen);

// Where ExportInto writes a model, and where it finds the files that go with it.
struct ExportPlace {
  const std::string& folder;
  std::string base;  // the folder with the model's other files (RUN/base or a model folder), or ""
  const std::vector<FrozenTensor>& frozen;
};
// The same into a new folder anywhere. If `place.base` is empty, no other files are exported.
absl::Status ExportInto(const TrainingContext& context, const TrainingSettings& settings,
                        const LoadedModel& model, ModelValues& values, const ExportPlace& place);

}  // namespace horizon
