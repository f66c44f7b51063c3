#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "model/files/safetensors_reader.h"

namespace horizon {

// Whether a file of the folder may be a symbolic link to a regular file. The model folders of hub
// caches consist of such links; a run folder of ours never contains one.
enum class SymlinkPolicy { kFollow, kRefuse };

// Opens the weights of a model folder: `model.safetensors`, or else the shards that
// `model.safetensors.index.json` lists.
//
//   ASSIGN_OR_RETURN(const ModelFiles files, ModelFiles::Open(io, folder));
//   RETURN_IF_ERROR(files.ReadTensor("model.norm.weight", bytes));
//
// Open validates all headers. Values are read on request, straight into the caller's memory. Owns
// the open files; `io` must outlive it. Several threads may call the const methods.
class ModelFiles {
 public:
  // Returns NotFound if the folder has neither file or a shard is missing; DataLoss, with file and
  // tensor, if a header or the index is corrupt, or if a shard lacks a tensor that the index lists
  // or holds one that it does not list. The headers of all shards together may have at most 100 MB.
  static absl::StatusOr<ModelFiles> Open(Io& io, const std::string& folder,
                                         SymlinkPolicy symlinks = SymlinkPolicy::kFollow);

  // The place of one tensor. The pointer is valid as long as this ModelFiles.
  struct Location {
    size_t file = 0;  // position in files()
    const TensorEntry* tensor = nullptr;
  };

  const std::string& folder() const { return folder_; }
  // The open files, sorted by name.
  const std::vector<SafetensorsReader>& files() const { return files_; }
  // All tensors of the model, sorted by name.
  const std::vector<Location>& tensors() const { return tensors_; }
  // Returns nullptr if the model has no such tensor.
  const Location* Find(std::string_view name) const;

  // Like the methods of SafetensorsReader; NotFound for a name that the model does not have.
  absl::Status ReadTensor(std::string_view name, std::span<std::byte> into) const;
  absl::Status ReadRange(std::string_view name, uint64_t offset, std::span<std::byte> into) const;

 private:
  ModelFiles() = default;
  absl::Status AddFile(Io& io, const std::string& name, SymlinkPolicy symlinks,
                       Bytes* header_budget);
  absl::Status OpenShards(Io& io, const std::string& index_path, SymlinkPolicy symlinks);
  void ListTensors();

  std::string folder_;
  std::vector<SafetensorsReader> files_;
  std::vector<Location> tensors_;
};

}  // namespace horizon
