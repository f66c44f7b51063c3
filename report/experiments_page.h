#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// A folder of `horizon experiments --output` is recognized by this file.
inline constexpr char kExperimentResults[] = "results.json";

// Makes one HTML page from such a folder: the tables of its results.json and the charts beside it
// (NAME*.svg). The charts are embedded as images, so that nothing in them is executed. NotFound
// without results.json; InvalidArgument "FILE:LINE: ..." if it is invalid.
absl::StatusOr<std::string> ExperimentsPage(Io& io, const std::string& folder);

}  // namespace horizon
