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

// May a file of the folder be a symbolic link to a regular file? Model folders of hub caches are
// made of them; a run folder of ours never holds one.
enum class SymlinkPolicy { kFollow, kRefuse };

// The weights of a model folder: `model.safetensors`, or else the shards that
// `model.safetensors.index.json` names. All headers are validated when it opens; values are read on
// request, straight into the caller's memory. Owns the open files; `io` outlives it. The const
// methods may be called from several threads.
class ModelFiles {
 public:
  // NotFound when the folder has neither file or a shard is missing; DataLoss, with file and
  // tensor, when a header or the index is corrupt, a shard lacks a tensor the index promises or
  // holds one it does not. The headers of all shards together may take 100 MB.
  static absl::StatusOr<ModelFiles> Open(Io& io, const std::string& folder,
                                         SymlinkPolicy symlinks = SymlinkPolicy::kFollow);

  // Where one tensor is. The pointer lives as long as this object.
  struct Location {
    size_t file = 0;  // position in files()
    const TensorEntry* tensor = nullptr;
  };

  const std::string& folder() const { return folder_; }
  // Sorted by name.
  const std::vector<SafetensorsReader>& files() const { return files_; }
  // Every tensor of the model, sorted by name.
  const std::vector<Location>& tensors() const { return tensors_; }
  // nullptr when the model has no such tensor.
  const Location* Find(std::string_view name) const;

  // As SafetensorsReader's; NotFound for a name the model does not have.
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
