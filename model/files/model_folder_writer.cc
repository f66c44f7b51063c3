#include "model/files/model_folder_writer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/safetensors_writer.h"
#include "model/files/tensor_entry.h"

namespace horizon {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
// transformers refuses weights that do not say which framework wrote them; "pt" is what it expects.
constexpr std::string_view kFormatKey = "format";
constexpr std::string_view kFormat = "pt";

// Whole elements of every dtype, so that a source never has to split one.
constexpr uint64_t kPieceUnit = 8;

absl::Status WriteShard(Io& io, const std::string& path, std::span<const TensorDeclaration> tensors,
                        const TensorSource& source, std::span<std::byte> piece) {
  SafetensorsWriterOptions options{.buffer = Bytes(CheckedU64(piece.size()))};
  options.metadata.emplace_back(kFormatKey, kFormat);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<SafetensorsWriter> writer,
      SafetensorsWriter::Create(
          io, path, std::vector<TensorDeclaration>(tensors.begin(), tensors.end()), options));
  for (const TensorDeclaration& tensor : tensors) {
    const uint64_t bytes = writer->header().Find(tensor.name)->bytes().value();
    for (uint64_t offset = 0; offset < bytes; offset += piece.size()) {
      const auto part = piece.first(std::min<uint64_t>(piece.size(), bytes - offset));
      RETURN_IF_ERROR(source(tensor, offset, part));
      RETURN_IF_ERROR(writer->Append(tensor.name, part));
    }
  }
  return writer->Finish();
}

absl::Status RefuseExisting(Io& io, const std::string& folder) {
  for (const std::string_view name : {kSingleFile, kIndexFile}) {
    const std::string path = JoinPath(folder, name);
    const absl::StatusOr<FileInfo> info = io.Info(path);
    if (info.ok()) {
      return absl::AlreadyExistsError(StrCat("cannot write a model to '", folder, "': '", path,
                                             "' exists; choose a new folder"));
    }
    if (!absl::IsNotFound(info.status())) return info.status();
  }
  return absl::OkStatus();
}

absl::Status CheckUniqueNames(const std::vector<TensorDeclaration>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorDeclaration& tensor : tensors) names.emplace_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin == names.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("cannot write a model that has tensor ", Quoted(*twin), " twice"));
}

}  // namespace

std::string ShardName(std::string_view stem, size_t number, size_t count) {
  if (count == 1) return StrCat(stem, ".safetensors");
  return StrCat(stem, absl::StrFormat("-%05d-of-%05d.safetensors", number + 1, count));
}

std::string ShardIndexText(const std::vector<TensorDeclaration>& tensors,
                           const std::vector<ShardRange>& shards) {
  Bytes total;
  for (const TensorDeclaration& tensor : tensors) {
    total += TensorBytes(tensor.dtype, tensor.shape).value_or(0_B);
  }
  JsonWriter writer;
  writer.BeginObject();
  writer.Key("metadata").BeginObject().Key("total_size").Unsigned(total.value()).EndObject();
  writer.Key("weight_map").BeginObject();
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    const std::string name = ShardName("model", shard, shards.size());
    for (size_t i = shards[shard].begin; i < shards[shard].end; ++i) {
      writer.Key(tensors[i].name).String(name);
    }
  }
  writer.EndObject().EndObject();
  return std::move(writer).Finish();
}

absl::StatusOr<std::vector<ShardRange>> SplitIntoShards(
    const std::vector<TensorDeclaration>& tensors, Bytes max_shard) {
  std::vector<ShardRange> shards(1);
  Bytes filled;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::optional<Bytes> bytes = TensorBytes(tensors[i].dtype, tensors[i].shape);
    if (!bytes.has_value()) {
      return absl::InvalidArgumentError(StrCat("tensor ", Quoted(tensors[i].name), " of shape ",
                                               ShapeForMessage(tensors[i].shape),
                                               " has no size in whole bytes below 2^64"));
    }
    const bool fits = (filled + *bytes).ok() && filled + *bytes <= max_shard;
    if (!fits && shards.back().end > shards.back().begin) {
      shards.push_back({.begin = i, .end = i});
      filled = 0_B;
    }
    filled += *bytes;
    shards.back().end = i + 1;
  }
  return shards;
}

absl::Status WriteModelFolder(Io& io, const std::string& folder,
                              const std::vector<TensorDeclaration>& tensors,
                              const TensorSource& source, const ModelFolderOptions& options) {
  RETURN_IF_ERROR(CheckUniqueNames(tensors));
  ASSIGN_OR_RETURN(const std::vector<ShardRange> shards,
                   SplitIntoShards(tensors, options.max_shard));
  RETURN_IF_ERROR(RefuseExisting(io, folder));
  std::vector<std::byte> piece(
      std::max(kPieceUnit, options.piece.value() / kPieceUnit * kPieceUnit));

  std::vector<std::string> written;
  absl::Status status;
  for (size_t i = 0; i < shards.size() && status.ok(); ++i) {
    const std::string path = JoinPath(folder, ShardName("model", i, shards.size()));
    const auto part = std::span(tensors).subspan(shards[i].begin, shards[i].end - shards[i].begin);
    status = WriteShard(io, path, part, source, piece);
    if (status.ok()) written.push_back(path);
  }
  if (status.ok() && shards.size() > 1) {
    const std::string path = JoinPath(folder, kIndexFile);
    written.push_back(path);  // even a failed write may have got as far as its name
    status = WriteTextFile(io, path, ShardIndexText(tensors, shards));
  }
  if (status.ok()) status = io.SyncDirectory(folder);
  if (status.ok()) return status;
  // Newest first: the index goes before the shards it names. What cannot be removed stays; the
  // first error is what the caller has to know.
  for (auto path = written.rbegin(); path != written.rend(); ++path) io.Unlink(*path).IgnoreError();
  return status;
}

}  // namespace horizon
