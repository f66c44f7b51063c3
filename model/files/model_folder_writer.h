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
#include "model/files/safetensors_start.h"

namespace horizon {

// Fills `into` with the bytes of `tensor` from byte `offset` on. Called with whole pieces in order
// of offset, one tensor after another; an error stops the writing and is returned by it.
using TensorSource = std::function<absl::Status(const TensorDeclaration& tensor, uint64_t offset,
                                                std::span<std::byte> into)>;

struct ModelFolderOptions {
  // Tensors are put into a file until the next would take its data past this; one that is larger by
  // itself gets a file of its own.
  Bytes max_shard = Bytes(CheckedU64(5'000'000'000));
  // What is held in memory: the size of the pieces asked of the source. At least 8.
  Bytes piece = 4_MiB;
};

// Writes the weights of a Hugging Face folder that transformers loads as it is:
// `model.safetensors` when one file is enough, else `model-00001-of-0000N.safetensors` and so on
// with `model.safetensors.index.json`. The folder must exist; config and tokenizer are the
// caller's. AlreadyExists when it holds weights already. Files are synced, the index comes last,
// then the folder is synced; after an error the files written are removed again.
absl::Status WriteModelFolder(Io& io, const std::string& folder,
                              const std::vector<TensorDeclaration>& tensors,
                              const TensorSource& source, const ModelFolderOptions& options = {});

// How WriteModelFolder spreads tensors over files: ranges of positions, in order. At least one.
// InvalidArgument when a tensor has no size in bytes.
struct ShardRange {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const ShardRange&, const ShardRange&) = default;
};
absl::StatusOr<std::vector<ShardRange>> SplitIntoShards(
    const std::vector<TensorDeclaration>& tensors, Bytes max_shard);

// The name of file `number` (from 0) of `count`: "STEM-00001-of-00003.safetensors", or
// "STEM.safetensors" where it is the only one.
std::string ShardName(std::string_view stem, size_t number, size_t count);
// The text of model.safetensors.index.json for these shards. Every tensor must have a size.
std::string ShardIndexText(const std::vector<TensorDeclaration>& tensors,
                           const std::vector<ShardRange>& shards);

}  // namespace horizon
