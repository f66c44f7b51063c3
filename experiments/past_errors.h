#pragma once

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/prediction_basis.h"

namespace horizon {

// Finds how far predictions were off, for each basis that a prediction can have
// (planner/prediction_basis.h). For speeds fitted to the published system it uses the judged rows
// of that system in the experiments; for data sheets only, the runs of other systems that strategy
// `horizon` simulates; for measured profiles, the runs in the file `validate_json`, an answer of
// `horizon validate --json`. Returns errors of Io, of the experiments and of that file.
absl::StatusOr<PredictionErrors> FindPredictionErrors(Io& io, const std::string& validate_json);

}  // namespace horizon
