#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// The file by which a folder of `horizon experiments --output` is known.
inline constexpr char kExperimentResults[] = "results.json";

// One page from such a folder: the tables of its results.json, and the charts beside it (NAME*.svg)
// put into the page as pictures, so that nothing in them is executed. NotFound without
// results.json; InvalidArgument "FILE:LINE: ..." where it is not one.
absl::StatusOr<std::string> ExperimentsPage(Io& io, const std::string& folder);

}  // namespace horizon
