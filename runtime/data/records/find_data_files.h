#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// The data files that a path stands for.
struct FoundDataFiles {
  std::vector<std::string> files;    // sorted; never empty
  std::vector<std::string> skipped;  // what a folder holds besides, sorted
};

// A file stands for itself. A folder stands for all data files in it and in the folders below, in
// the order of their paths: files named .jsonl, .ndjson, .json, .txt and .md. Hidden names, and
// files with other endings, are skipped, and the result says which. Data in a format that must be
// converted first (Parquet, CSV, compressed files) is refused, because it would be missed silently:
// RecordStream::Open's error. InvalidArgument for a folder without data files and for folders
// nested more than 32 deep (a link to a folder above it); NotFound and other errors of Io.
absl::StatusOr<FoundDataFiles> FindDataFiles(Io& io, const std::string& path);

}  // namespace horizon
