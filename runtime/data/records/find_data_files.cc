#include "runtime/data/records/find_data_files.h"

#include <algorithm>
#include <string_view>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/data/records/record_stream.h"

namespace horizon {
namespace {

constexpr int kDeepest = 32;

absl::Status AddFile(Io& io, const std::string& path, FoundDataFiles& found) {
  switch (NameOf(path)) {
    case DataFileName::kData:
      found.files.push_back(path);
      return absl::OkStatus();
    case DataFileName::kToConvert:
      // The error says how; a file that is only called so is read.
      RETURN_IF_ERROR(RecordStream::Open(io, path).status());
      found.files.push_back(path);
      return absl::OkStatus();
    case DataFileName::kOther:
      found.skipped.push_back(path);
      break;
  }
  return absl::OkStatus();
}

absl::Status AddFolder(Io& io, const std::string& folder, int depth, FoundDataFiles& found) {
  if (depth > kDeepest) {
    return absl::InvalidArgumentError(StrCat("cannot read the data folder '", folder,
                                             "': folders are nested more than ", kDeepest,
                                             " deep; is there a link to a folder above it?"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(folder));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (name.starts_with('.')) {
      found.skipped.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
    if (info.kind == FileKind::kDirectory) {
      RETURN_IF_ERROR(AddFolder(io, path, depth + 1, found));
    } else if (info.kind == FileKind::kRegular) {
      RETURN_IF_ERROR(AddFile(io, path, found));
    } else {
      found.skipped.push_back(path);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FoundDataFiles> FindDataFiles(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
  if (info.kind != FileKind::kDirectory) return FoundDataFiles{.files = {path}};
  FoundDataFiles found;
  RETURN_IF_ERROR(AddFolder(io, path, 1, found));
  std::sort(found.files.begin(), found.files.end());
  std::sort(found.skipped.begin(), found.skipped.end());
  if (!found.files.empty()) return found;
  return absl::InvalidArgumentError(
      StrCat("the folder '", path,
             "' holds no data: no file in it is named .jsonl, .ndjson, .json, .txt or .md"));
}

}  // namespace horizon
