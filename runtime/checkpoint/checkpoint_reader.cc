#include "runtime/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/crc32c.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/safetensors_header.h"
#include "runtime/checkpoint/checkpoint_names.h"

namespace horizon {
namespace {

constexpr size_t kPiece = 4 << 20;

absl::Status Damaged(const std::string& path, std::string_view reason) {
  return absl::DataLossError(StrCat("checkpoint '", path, "' is damaged: ", reason));
}

bool IsShard(const FileRecord& file) { return file.name.ends_with(".safetensors"); }

absl::Status ReadFully(File& file, const std::string& path, uint64_t offset,
                       std::span<std::byte> into) {
  ASSIGN_OR_RETURN(const size_t count, file.ReadAt(offset, into));
  if (count == into.size()) return absl::OkStatus();
  return absl::DataLossError(StrCat("'", path, "' became shorter while being read: ", into.size(),
                                    " bytes wanted at byte ", offset, ", ", count, " found"));
}

absl::StatusOr<std::string> ReadManifestText(Io& io, const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(io, path, kMaxManifest);
  // Too large is a fault of the file, not of whoever asked.
  if (absl::IsInvalidArgument(text.status())) return absl::DataLossError(text.status().message());
  return text;
}

// Whether the header has the tensor as the manifest says; else what is different.
std::string Difference(const TensorRecord& record, const TensorEntry* entry, uint64_t head_bytes) {
  if (entry == nullptr) return "its header has no such tensor";
  if (entry->dtype != record.dtype || entry->shape != record.shape) {
    return StrCat("its header says ", ToString(entry->dtype), " ", ShapeForMessage(entry->shape),
                  ", the manifest ", ToString(record.dtype), " ", ShapeForMessage(record.shape));
  }
  if (head_bytes + entry->begin != record.offset) {
    return StrCat("its header places it at byte ", head_bytes + entry->begin, ", the manifest at ",
                  record.offset);
  }
  return "";
}

}  // namespace

Checkpoint::Checkpoint(Io& io, std::string path, Manifest manifest)
    : io_(&io),
      path_(std::move(path)),
      manifest_(std::move(manifest)),
      by_file_(manifest_.files.size()) {
  const auto& tensors = manifest_.tensors;
  for (size_t i = 0; i < tensors.size(); ++i) by_file_[tensors[i].file].push_back(i);
  for (std::vector<size_t>& members : by_file_) {
    std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
      return std::pair(tensors[a].offset, a) < std::pair(tensors[b].offset, b);
    });
  }
}

absl::StatusOr<Checkpoint> Checkpoint::Open(Io& io, const std::string& folder) {
  ASSIGN_OR_RETURN(const FileInfo info, io.Info(folder));
  if (info.is_symlink) {
    return Damaged(folder, "it is a symbolic link, and a run folder holds none");
  }
  if (info.kind != FileKind::kDirectory) return Damaged(folder, "it is not a folder");
  const std::string manifest_path = JoinPath(folder, kManifestFile);
  const absl::StatusOr<FileInfo> manifest_info = io.Info(manifest_path);
  if (absl::IsNotFound(manifest_info.status())) return Damaged(folder, "it has no manifest.json");
  RETURN_IF_ERROR(manifest_info.status());
  if (manifest_info->is_symlink || manifest_info->kind != FileKind::kRegular) {
    return Damaged(folder, "its manifest.json is not a regular file itself");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadManifestText(io, manifest_path));
  ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(manifest_path, text));

  Checkpoint checkpoint(io, folder, std::move(manifest));
  const std::optional<int64_t> step = StepOfName(BaseName(folder));
  if (step.has_value() && *step != checkpoint.manifest_.step) {
    return Damaged(folder, StrCat("it holds step ", checkpoint.manifest_.step));
  }
  RETURN_IF_ERROR(checkpoint.CheckFileSet());
  for (size_t i = 0; i < checkpoint.manifest_.files.size(); ++i) {
    RETURN_IF_ERROR(checkpoint.CheckFile(i));
  }
  return checkpoint;
}

std::string Checkpoint::PathOf(size_t file) const {
  return JoinPath(path_, manifest_.files[file].name);
}

absl::Status Checkpoint::CheckFileSet() const {
  ASSIGN_OR_RETURN(std::vector<std::string> found, io_->List(path_));
  std::vector<std::string> expected = {std::string(kManifestFile)};
  for (const FileRecord& file : manifest_.files) expected.push_back(file.name);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  const auto [have, want] =
      std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  if (have == found.end() && want == expected.end()) return absl::OkStatus();
  const bool is_missing = have == found.end() || (want != expected.end() && *want < *have);
  if (is_missing) return Damaged(path_, StrCat("the file '", *want, "' is missing"));
  return Damaged(path_, StrCat(Quoted(*have), " does not belong to it"));
}

absl::Status Checkpoint::CheckPlainFile(const std::string& name) const {
  ASSIGN_OR_RETURN(const FileInfo info, io_->Info(JoinPath(path_, name)));
  if (!info.is_symlink && info.kind == FileKind::kRegular) return absl::OkStatus();
  return Damaged(path_, StrCat("'", name, "' is not a regular file itself"));
}

absl::Status Checkpoint::CheckFile(size_t file) const {
  const FileRecord& record = manifest_.files[file];
  const std::string path = PathOf(file);
  RETURN_IF_ERROR(CheckPlainFile(record.name));
  ASSIGN_OR_RETURN(const std::unique_ptr<File> open, io_->Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const FileInfo info, open->Info());
  if (info.size != record.bytes) {
    return Damaged(path_, StrCat("'", record.name, "' has ", info.size.value(), " bytes, and ",
                                 record.bytes.value(), " were saved"));
  }
  constexpr Bytes kMostHead = kMaxSafetensorsHeaderBytes + Bytes(kSafetensorsPrefixBytes);
  if (record.head_bytes > kMostHead || (!IsShard(record) && record.head_bytes != record.bytes)) {
    return Damaged(path_, StrCat("the head of '", record.name, "' is said to take ",
                                 record.head_bytes.value(), " bytes"));
  }
  std::string head(record.head_bytes.value(), '\0');
  RETURN_IF_ERROR(ReadFully(*open, path, 0, std::as_writable_bytes(std::span(head))));
  const uint32_t crc = Crc32c(std::as_bytes(std::span(head)));
  if (crc != record.crc32c) {
    return Damaged(path_,
                   StrCat("the first ", head.size(), " bytes of '", record.name, "' have CRC-32C ",
                          Crc32cText(crc), ", and ", Crc32cText(record.crc32c), " was saved"));
  }
  RETURN_IF_ERROR(open->Close());
  return CheckHeader(file, head);
}

absl::Status Checkpoint::CheckHeader(size_t file, std::string_view head) const {
  const FileRecord& record = manifest_.files[file];
  if (!IsShard(record)) {
    if (by_file_[file].empty()) return absl::OkStatus();
    return Damaged(path_, StrCat("tensors in '", record.name, "', which is no safetensors file"));
  }
  const std::string path = PathOf(file);
  const auto prefix =
      std::as_bytes(std::span(head)).first(std::min<size_t>(head.size(), kSafetensorsPrefixBytes));
  ASSIGN_OR_RETURN(const Bytes length, DecodeHeaderLength(path, prefix, record.bytes));
  if (length.value() + kSafetensorsPrefixBytes != head.size()) {
    return Damaged(path_, StrCat("the header of '", record.name, "' takes ", length.value(),
                                 " bytes, and the manifest says otherwise"));
  }
  ASSIGN_OR_RETURN(const SafetensorsHeader header,
                   ParseSafetensorsHeader(path, head.substr(kSafetensorsPrefixBytes),
                                          record.bytes - Bytes(head.size())));
  for (const size_t i : by_file_[file]) {
    const TensorRecord& tensor = manifest_.tensors[i];
    const std::string name = SavedName(tensor.name, tensor.part);
    const std::string difference = Difference(tensor, header.Find(name), head.size());
    if (difference.empty()) continue;
    return Damaged(path_, StrCat("'", record.name, "', tensor ", Quoted(name), ": ", difference));
  }
  if (header.tensors().size() == by_file_[file].size()) return absl::OkStatus();
  return Damaged(path_, StrCat("'", record.name, "' holds ", header.tensors().size(),
                               " tensors, and the manifest lists ", by_file_[file].size()));
}

absl::Status Checkpoint::ReadFrom(File& file, const TensorRecord& tensor,
                                  std::span<std::byte> piece, const Sink& sink) const {
  const std::string path = PathOf(tensor.file);
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < tensor.bytes.value(); offset += piece.size()) {
    const auto part = piece.first(std::min<uint64_t>(piece.size(), tensor.bytes.value() - offset));
    RETURN_IF_ERROR(ReadFully(file, path, tensor.offset + offset, part));
    crc = Crc32c(part, crc);
    RETURN_IF_ERROR(sink(tensor, offset, part));
  }
  if (crc == tensor.crc32c) return absl::OkStatus();
  return Damaged(
      path_, StrCat("'", manifest_.files[tensor.file].name, "', tensor ",
                    Quoted(SavedName(tensor.name, tensor.part)), ", ", tensor.bytes.value(),
                    " bytes at offset ", tensor.offset, ": CRC-32C is ", Crc32cText(crc), ", and ",
                    Crc32cText(tensor.crc32c), " was saved"));
}

absl::Status Checkpoint::Read(const Sink& sink) const {
  uint64_t largest = 1;
  for (const TensorRecord& tensor : manifest_.tensors)
    largest = std::max(largest, tensor.bytes.value());
  std::vector<std::byte> piece(std::min<uint64_t>(largest, kPiece));
  for (size_t i = 0; i < by_file_.size(); ++i) {
    if (by_file_[i].empty()) continue;
    RETURN_IF_ERROR(CheckPlainFile(manifest_.files[i].name));
    ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io_->Open(PathOf(i), OpenMode::kRead));
    for (const size_t tensor : by_file_[i]) {
      RETURN_IF_ERROR(ReadFrom(*file, manifest_.tensors[tensor], piece, sink));
    }
    RETURN_IF_ERROR(file->Close());
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::ReadTensor(size_t tensor, const Sink& sink) const {
  CHECK(tensor < manifest_.tensors.size());
  const TensorRecord& record = manifest_.tensors[tensor];
  std::vector<std::byte> piece(std::clamp<uint64_t>(record.bytes.value(), 1, kPiece));
  RETURN_IF_ERROR(CheckPlainFile(manifest_.files[record.file].name));
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                   io_->Open(PathOf(record.file), OpenMode::kRead));
  RETURN_IF_ERROR(ReadFrom(*file, record, piece, sink));
  return file->Close();
}

absl::Status Checkpoint::VerifyPayload() const {
  return Read(
      [](const TensorRecord&, uint64_t, std::span<const std::byte>) { return absl::OkStatus(); });
}

absl::StatusOr<std::string> Checkpoint::ReadText(const std::string& name) const {
  for (size_t i = 0; i < manifest_.files.size(); ++i) {
    const FileRecord& record = manifest_.files[i];
    if (record.name != name || IsShard(record)) continue;
    RETURN_IF_ERROR(CheckPlainFile(name));
    ASSIGN_OR_RETURN(std::string text, ReadTextFile(*io_, PathOf(i), record.bytes));
    const uint32_t crc = Crc32c(std::as_bytes(std::span(text)));
    if (crc == record.crc32c) return text;
    return Damaged(path_, StrCat("'", name, "' has CRC-32C ", Crc32cText(crc), ", and ",
                                 Crc32cText(record.crc32c), " was saved"));
  }
  return absl::NotFoundError(StrCat("checkpoint '", path_, "' has no file ", Quoted(name)));
}

absl::StatusOr<std::vector<FoundCheckpoint>> FindCheckpoints(Io& io,
                                                             const std::string& run_folder) {
  RETURN_IF_ERROR(io.Info(run_folder).status());
  const std::string folder = JoinPath(run_folder, kCheckpointsFolder);
  std::vector<FoundCheckpoint> found;
  const absl::StatusOr<FileInfo> info = io.Info(folder);
  if (absl::IsNotFound(info.status())) return found;
  RETURN_IF_ERROR(info.status());
  if (info->is_symlink || info->kind != FileKind::kDirectory) {
    return absl::DataLossError(
        StrCat("'", folder, "' is not a folder itself; a run folder holds no links"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(folder));
  for (const std::string& name : names) {
    const std::optional<int64_t> step = StepOfName(name);
    if (step.has_value()) found.push_back({.step = *step, .path = JoinPath(folder, name)});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundCheckpoint& a, const FoundCheckpoint& b) { return a.step > b.step; });
  return found;
}

absl::StatusOr<Checkpoint> OpenNewestCheckpoint(Io& io, const std::string& run_folder) {
  constexpr int kMostTries = 100;
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> found, FindCheckpoints(io, run_folder));
    if (found.empty()) {
      return absl::NotFoundError(StrCat("there is no checkpoint in '", run_folder, "'"));
    }
    absl::StatusOr<Checkpoint> newest = Checkpoint::Open(io, found.front().path);
    if (newest.ok()) return newest;
    // A run that trains meanwhile removes a checkpoint when there are newer ones.
    const bool gone = absl::IsNotFound(io.Info(found.front().path).status());
    if (gone && tries < kMostTries) continue;
    return WithOlderCheckpoint(io, run_folder, found.front().step, newest.status());
  }
}

absl::Status WithOlderCheckpoint(Io& io, const std::string& run_folder, int64_t step,
                                 const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return status;
  ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> found, FindCheckpoints(io, run_folder));
  for (const FoundCheckpoint& other : found) {
    if (other.step >= step || !Checkpoint::Open(io, other.path).ok()) continue;
    return WithMessage(status, StrCat(status.message(), "; the one before, step ", other.step,
                                      ", opens: --resume ", other.path));
  }
  return WithMessage(status, StrCat(status.message(), "; no other one before it opens"));
}

}  // namespace horizon
