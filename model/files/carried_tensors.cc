#include "model/files/carried_tensors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/model_files.h"
#include "model/files/safetensors_reader.h"
#include "model/files/safetensors_writer.h"
#include "model/files/tensor_entry.h"
#include "model/stages.h"

namespace horizon {
namespace {

constexpr std::string_view kNamingKey = "text_part_naming";
constexpr Bytes kPiece = 1_MiB;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status WriteAll(Io& io, const std::string& path, const CarriedTensors& carried) {
  SafetensorsWriterOptions options{.buffer = kPiece};
  options.metadata.emplace_back(kNamingKey, ToString(carried.naming));
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsWriter> writer,
                   SafetensorsWriter::Create(io, path, carried.tensors, options));
  std::vector<std::byte> piece(kPiece.value());
  for (const TensorDeclaration& tensor : carried.tensors) {
    const uint64_t bytes = writer->header().Find(tensor.name)->bytes().value();
    for (uint64_t offset = 0; offset < bytes; offset += piece.size()) {
      const auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), bytes - offset));
      RETURN_IF_ERROR(carried.read(tensor, offset, part));
      RETURN_IF_ERROR(writer->Append(tensor.name, part));
    }
  }
  return writer->Finish();
}

absl::StatusOr<DiskNaming> NamingOf(const SafetensorsReader& file) {
  for (const auto& [key, value] : file.header().metadata()) {
    if (key != kNamingKey) continue;
    for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
      if (value == ToString(naming)) return naming;
    }
    return absl::DataLossError(
        StrCat("'", file.path(), "': its ", kNamingKey, " is ", Quoted(value),
               ", not language_model or nested; it was written by a newer version, or is damaged"));
  }
  return absl::DataLossError(
      StrCat("'", file.path(), "' has no ", kNamingKey,
             " in its metadata: it holds no tensors that a run keeps for its exports"));
}

}  // namespace

Bytes CarriedTensors::bytes() const {
  Bytes total;
  for (const TensorDeclaration& tensor : tensors) {
    total += TensorBytes(tensor.dtype, tensor.shape).value_or(0_B);
  }
  return total;
}

absl::StatusOr<CarriedTensors> OpenCarriedTensors(Io& io, const std::string& folder,
                                                  const ModelSpec& spec) {
  CHECK(!spec.wrapper.empty());
  ASSIGN_OR_RETURN(ModelFiles opened, ModelFiles::Open(io, folder));
  // std::function wants to copy what it holds, and open files cannot be copied.
  const auto files = std::make_shared<ModelFiles>(std::move(opened));
  CarriedTensors carried;
  ASSIGN_OR_RETURN(carried.naming, FindNaming(spec, ListStages(spec), *files));
  for (const ModelFiles::Location& location : files->tensors()) {
    const TensorEntry& tensor = *location.tensor;
    if (IsTextPartName(tensor.name)) continue;
    carried.tensors.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
  }
  carried.read = [files](const TensorDeclaration& tensor, uint64_t offset,
                         std::span<std::byte> into) {
    return files->ReadRange(tensor.name, offset, into);
  };
  return carried;
}

absl::Status SaveCarriedTensors(Io& io, const std::string& path, const CarriedTensors& carried) {
  const std::string folder = FolderOf(path);
  ASSIGN_OR_RETURN(const Bytes free, io.FreeSpace(folder));
  if (free < carried.bytes()) {
    return absl::ResourceExhaustedError(
        StrCat("cannot keep the tensors beside the model's text part in '", path, "': they take ",
               ToString(carried.bytes()), ", and '", folder, "' has ", ToString(free),
               " free; free some, or choose another disk"));
  }
  const std::string temporary = path + ".tmp";
  absl::Status removed = io.Unlink(temporary);  // of a process that was killed here
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  RETURN_IF_ERROR(WriteAll(io, temporary, carried));
  absl::Status renamed = io.Rename(temporary, path);
  if (!renamed.ok()) {
    io.Unlink(temporary).IgnoreError();  // the first error is what the caller has to know
    return renamed;
  }
  return io.SyncDirectory(folder);
}

absl::StatusOr<CarriedTensors> LoadCarriedTensors(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
  if (info.is_symlink) {
    return absl::DataLossError(
        StrCat("'", path, "' is a symbolic link, which the folder of a run may not hold"));
  }
  ASSIGN_OR_RETURN(SafetensorsReader opened, SafetensorsReader::Open(io, path));
  const auto file = std::make_shared<SafetensorsReader>(std::move(opened));
  CarriedTensors carried;
  ASSIGN_OR_RETURN(carried.naming, NamingOf(*file));
  for (const TensorEntry& tensor : file->header().tensors()) {
    if (IsTextPartName(tensor.name)) {
      return absl::DataLossError(StrCat("'", path, "' holds ", Quoted(tensor.name),
                                        ", which is a tensor of the text part; a run keeps the "
                                        "others only"));
    }
    carried.tensors.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
  }
  carried.read = [file](const TensorDeclaration& tensor, uint64_t offset,
                        std::span<std::byte> into) {
    return file->ReadRange(tensor.name, offset, into);
  };
  return carried;
}

}  // namespace horizon
