#include "model/files/model_files.h"

#include <algorithm>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/shard_index.h"

namespace horizon {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";

// Whether there is something of that name; a link that leads nowhere counts as nothing.
absl::StatusOr<bool> Exists(Io& io, const std::string& path) {
  const absl::StatusOr<FileInfo> info = io.Info(path);
  if (info.ok()) return true;
  if (absl::IsNotFound(info.status())) return false;
  return info.status();
}

absl::Status CheckPlainFile(Io& io, const std::string& path, SymlinkPolicy symlinks) {
  ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
  if (info.kind != FileKind::kRegular) {
    return absl::DataLossError(StrCat("'", path, "' is not a regular file"));
  }
  if (info.is_symlink && symlinks == SymlinkPolicy::kRefuse) {
    return absl::DataLossError(
        StrCat("'", path, "' is a symbolic link, which this folder may not hold"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadIndexText(Io& io, const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(io, path);
  // Too large is a fault of the file, not of whoever asked.
  if (absl::IsInvalidArgument(text.status())) return absl::DataLossError(text.status().message());
  return text;
}

}  // namespace

absl::StatusOr<ModelFiles> ModelFiles::Open(Io& io, const std::string& folder,
                                            SymlinkPolicy symlinks) {
  ModelFiles model;
  model.folder_ = folder;
  ASSIGN_OR_RETURN(const bool is_single, Exists(io, JoinPath(folder, kSingleFile)));
  const std::string index_path = JoinPath(folder, kIndexFile);
  if (is_single) {
    Bytes header_budget = kMaxSafetensorsHeaderBytes;
    RETURN_IF_ERROR(model.AddFile(io, std::string(kSingleFile), symlinks, &header_budget));
  } else {
    ASSIGN_OR_RETURN(const bool is_sharded, Exists(io, index_path));
    if (!is_sharded) {
      return absl::NotFoundError(StrCat("no weights in '", folder, "': it has neither ",
                                        kSingleFile, " nor ", kIndexFile,
                                        "; convert other formats to safetensors first"));
    }
    RETURN_IF_ERROR(model.OpenShards(io, index_path, symlinks));
  }
  model.ListTensors();
  return model;
}

absl::Status ModelFiles::AddFile(Io& io, const std::string& name, SymlinkPolicy symlinks,
                                 Bytes* header_budget) {
  const std::string path = JoinPath(folder_, name);
  RETURN_IF_ERROR(CheckPlainFile(io, path, symlinks));
  ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(io, path, *header_budget));
  *header_budget -= reader.header_bytes();
  files_.push_back(std::move(reader));
  return absl::OkStatus();
}

absl::Status ModelFiles::OpenShards(Io& io, const std::string& index_path, SymlinkPolicy symlinks) {
  RETURN_IF_ERROR(CheckPlainFile(io, index_path, symlinks));
  ASSIGN_OR_RETURN(const std::string text, ReadIndexText(io, index_path));
  ASSIGN_OR_RETURN(const ShardIndex index, ParseShardIndex(index_path, text));
  // Real headers add up to a few megabytes; without a common budget a folder of hostile shards
  // would take a gigabyte each.
  Bytes header_budget = kMaxSafetensorsHeaderBytes;
  for (const std::string& shard : index.shards) {
    RETURN_IF_ERROR(AddFile(io, shard, symlinks, &header_budget));
  }

  std::vector<size_t> promised(files_.size());
  for (const auto& [tensor, shard] : index.tensors) {
    if (files_[shard].header().Find(tensor) == nullptr) {
      return absl::DataLossError(StrCat("'", index_path, "' places tensor ", Quoted(tensor),
                                        " in '", index.shards[shard], "', which does not hold it"));
    }
    ++promised[shard];
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    if (promised[i] == files_[i].header().tensors().size()) continue;
    for (const TensorEntry& tensor : files_[i].header().tensors()) {
      const auto entry = std::lower_bound(index.tensors.begin(), index.tensors.end(),
                                          std::pair(tensor.name, size_t{0}));
      if (entry != index.tensors.end() && entry->first == tensor.name && entry->second == i)
        continue;
      return absl::DataLossError(StrCat("'", files_[i].path(), "' holds tensor ",
                                        Quoted(tensor.name), ", which '", index_path,
                                        "' does not place there"));
    }
  }
  return absl::OkStatus();
}

void ModelFiles::ListTensors() {
  for (size_t i = 0; i < files_.size(); ++i) {
    for (const TensorEntry& tensor : files_[i].header().tensors()) {
      tensors_.push_back({.file = i, .tensor = &tensor});
    }
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const Location& a, const Location& b) { return a.tensor->name < b.tensor->name; });
}

const ModelFiles::Location* ModelFiles::Find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Location& location, std::string_view wanted) {
                                        return location.tensor->name < wanted;
                                      });
  return found != tensors_.end() && found->tensor->name == name ? &*found : nullptr;
}

absl::Status ModelFiles::ReadTensor(std::string_view name, std::span<std::byte> into) const {
  const Location* location = Find(name);
  if (location != nullptr) return files_[location->file].ReadTensor(name, into);
  return absl::NotFoundError(StrCat("the model in '", folder_, "' has no tensor ", Quoted(name)));
}

absl::Status ModelFiles::ReadRange(std::string_view name, uint64_t offset,
                                   std::span<std::byte> into) const {
  const Location* location = Find(name);
  if (location != nullptr) return files_[location->file].ReadRange(name, offset, into);
  return absl::NotFoundError(StrCat("the model in '", folder_, "' has no tensor ", Quoted(name)));
}

}  // namespace horizon
