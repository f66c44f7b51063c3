#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/files/disk_tensors.h"
#include "model/model_spec.h"

namespace horizon {

// How the folder of a model stores its experts, which a run remembers in RUN/base/experts.json for
// its exports. The file is only there if the layout is not the family's usual one.

// The layout that a run has kept in `base`, or that of the weights in `base` if it is a model
// folder; kUsual if there is neither. Opens nothing for a model whose experts are no tensors of
// their own. Returns the errors of ModelFiles and FindExpertLayout, and InvalidArgument, with file,
// line and key, for a bad experts.json.
absl::StatusOr<ExpertLayout> FindKeptLayout(Io& io, const std::string& base, const ModelSpec& spec);

// Writes the file, unless the layout is the usual one.
absl::Status KeepLayout(Io& io, const std::string& base, ExpertLayout layout);

}  // namespace horizon
