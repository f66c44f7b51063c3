#pragma once

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/prediction_basis.h"

namespace horizon {

// How far predictions have been off, by what they rest on: of the experiments' judged rows (speeds
// fitted to the published system: the rows of that system; data sheets only: the runs of other
// systems that strategy horizon simulates), and of the runs in `validate_json`, an answer of
// `horizon validate --json`. Errors of Io, of the experiments and of that file.
absl::StatusOr<PredictionErrors> FindPredictionErrors(Io& io, const std::string& validate_json);

}  // namespace horizon
