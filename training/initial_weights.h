#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/model_spec.h"
#include "runtime/parameters/parameter_store.h"

namespace horizon {

// The source of the weights that a training starts with: the files of a model folder, or random
// initialisation (random_init.h).
struct FolderWeights {
  std::string folder;
};
struct RandomWeights {
  int64_t seed = 0;
};
using WeightSource = std::variant<FolderWeights, RandomWeights>;

// InvalidArgument if the source should be a folder and is not one. It does not read the files.
absl::Status CheckWeightSource(Io& io, const WeightSource& source);

// Opens the weights for ParameterStore::Fill:
//   ASSIGN_OR_RETURN(const ParameterStore::Source weights, OpenWeights(io, source, spec));
//   RETURN_IF_ERROR(trainer->store().Fill(weights));
// Returns the errors of OpenModelSource. `io` and `spec` must outlive the result.
absl::StatusOr<ParameterStore::Source> OpenWeights(Io& io, const WeightSource& source,
                                                   const ModelSpec& spec);
// The same for random weights, which cannot fail.
ParameterStore::Source OpenWeights(const RandomWeights& source, const ModelSpec& spec);

}  // namespace horizon
