#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/files/safetensors_layout.h"

namespace horizon {

// Provides the values of the tensors that WriteModelFolder writes. It fills `into` with the bytes
// of `tensor` from byte `offset` on. It is called for one tensor after another, piece by piece in
// order of offset; every piece but the last of a tensor is a multiple of 8 bytes. An error stops
// the writing and is returned.
using TensorSource = std::function<absl::Status(const TensorDeclaration& tensor, uint64_t offset,
                                                std::span<std::byte> into)>;

// Options of WriteModelFolder.
struct ModelFolderOptions {
  // The most tensor data in one file. A tensor that would exceed it starts a new file; a tensor
  // that is larger by itself gets a file of its own.
  Bytes max_shard = Bytes(CheckedU64(5'000'000'000));
  // The size of the pieces requested from the source, which is what is held in memory. At least 8.
  Bytes piece = 4_MiB;
};

// Writes the weights of a Hugging Face folder that transformers can load as it is:
// `model.safetensors` if one file is enough, otherwise `model-00001-of-0000N.safetensors` and so on
// with `model.safetensors.index.json`. The folder must exist; the caller writes config and
// tokenizer. Returns AlreadyExists if the folder already holds weights. Syncs each file to disk,
// writes the index last, and then syncs the folder. After an error, the files written so far are
// removed.
absl::Status WriteModelFolder(Io& io, const std::string& folder,
                              const std::vector<TensorDeclaration>& tensors,
                              const TensorSource& source, const ModelFolderOptions& options = {});

// A range [begin, end) of positions in the list of tensors: the tensors of one file.
struct ShardRange {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const ShardRange&, const ShardRange&) = default;
};
// How WriteModelFolder distributes the tensors over files, in order. Returns at least one range.
// InvalidArgument if a tensor has no size in whole bytes.
absl::StatusOr<std::vector<ShardRange>> SplitIntoShards(
    const std::vector<TensorDeclaration>& tensors, Bytes max_shard);

// The name of file `number` (from 0) of `count`: "STEM-00001-of-00003.safetensors", or
// "STEM.safetensors" if it is the only one.
std::string ShardName(std::string_view stem, size_t number, size_t count);
// The text of model.safetensors.index.json for these shards. Every tensor must have a size.
std::string ShardIndexText(const std::vector<TensorDeclaration>& tensors,
                           const std::vector<ShardRange>& shards);

}  // namespace horizon
