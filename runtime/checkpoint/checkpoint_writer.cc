#include "runtime/checkpoint/checkpoint_writer.h"

#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/crc32c.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/remove_folder.h"
#include "runtime/checkpoint/retention.h"

namespace horizon {
namespace {

constexpr uint64_t kMostCached = 32 << 20;
// Left-over names that could not be removed are stepped over.
constexpr int kTemporaryNames = 1000;

uint32_t CrcOf(std::string_view text) { return Crc32c(std::as_bytes(std::span(text))); }

absl::Status MakeCheckpointsFolder(Io& io, const RunLock& lock) {
  const absl::Status made = io.MakeDirectory(lock.checkpoints_folder());
  if (absl::IsAlreadyExists(made)) return absl::OkStatus();
  RETURN_IF_ERROR(made);
  return io.SyncDirectory(lock.run_folder());
}

absl::Status CheckExtraFiles(const CheckpointLayout& layout, const std::vector<ExtraFile>& extra) {
  std::vector<std::string_view> names;
  for (const CheckpointFile& file : layout.files) names.emplace_back(file.name);
  for (const ExtraFile& file : extra) {
    RETURN_IF_ERROR(CheckFileName(file.name));
    const bool is_shard = file.name.ends_with(".safetensors");
    for (const std::string_view other : names) {
      if (other != file.name && !is_shard) continue;
      return absl::InvalidArgumentError(
          StrCat("a checkpoint has no place for another file ", Quoted(file.name)));
    }
    names.emplace_back(file.name);
  }
  return absl::OkStatus();
}

}  // namespace

CheckpointWriter::CheckpointWriter(Io& io, const RunLock& lock, const CheckpointLayout& layout,
                                   Options options)
    : io_(io),
      lock_(lock),
      layout_(layout),
      options_(std::move(options)),
      path_(JoinPath(lock.checkpoints_folder(), StepName(options_.step))),
      files_(layout.files.size()),
      written_(layout.entries.size()) {
  for (const CheckpointEntry& entry : layout.entries)
    files_[entry.file].missing += entry.bytes.value();
}

absl::StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Create(
    Io& io, const RunLock& lock, const CheckpointLayout& layout, Options options) {
  RETURN_IF_ERROR(CheckExtraFiles(layout, options.extra_files));
  auto writer =
      std::unique_ptr<CheckpointWriter>(new CheckpointWriter(io, lock, layout, std::move(options)));
  RETURN_IF_ERROR(writer->KeepFirstError(writer->Begin()));
  return writer;
}

CheckpointWriter::~CheckpointWriter() { Abandon(); }

absl::Status CheckpointWriter::Begin() {
  RETURN_IF_ERROR(MakeCheckpointsFolder(io_, lock_));
  // What cannot be removed is no reason not to save: it is ignored, and the space it takes is seen.
  RemoveUnfinished(io_, lock_).IgnoreError();
  const absl::StatusOr<FileInfo> existing = io_.Info(path_);
  if (existing.ok()) {
    return absl::AlreadyExistsError("it exists; remove it or choose another output folder");
  }
  if (!absl::IsNotFound(existing.status())) return existing.status();
  Bytes extra;
  for (const ExtraFile& file : options_.extra_files) extra += Bytes(CheckedU64(file.text.size()));
  RETURN_IF_ERROR(CheckFreeSpace(io_, lock_.checkpoints_folder(), layout_, 1, extra));
  absl::Status made;
  for (int number = 1; number <= kTemporaryNames; ++number) {
    std::string folder = JoinPath(lock_.checkpoints_folder(), TemporaryName(options_.step, number));
    made = io_.MakeDirectory(folder);
    if (made.ok()) temporary_ = std::move(folder);
    if (!absl::IsAlreadyExists(made)) break;
  }
  return made;
}

absl::Status CheckpointWriter::KeepFirstError(const absl::Status& status) {
  if (status.ok() || !status_.ok()) return status_;
  status_ =
      WithMessage(status, StrCat("cannot save checkpoint '", path_, "' (",
                                 layout_.total_bytes.value(), " bytes, of which ",
                                 bytes_written_.value(), " were written): ", status.message()));
  Abandon();
  return status_;
}

absl::Status CheckpointWriter::Write(size_t entry, uint64_t offset,
                                     std::span<const std::byte> bytes, int64_t step) {
  if (status_.ok()) return KeepFirstError(WriteUnchecked(entry, offset, bytes, step));
  return status_;
}

absl::Status CheckpointWriter::WriteUnchecked(size_t entry, uint64_t offset,
                                              std::span<const std::byte> bytes, int64_t step) {
  CHECK(entry < layout_.entries.size() && !temporary_.empty());
  const CheckpointEntry& place = layout_.entries[entry];
  const auto name = [&] {
    return Quoted(SavedName(layout_.tensors[place.tensor].name, place.part));
  };
  const CheckedU64 end = CheckedU64(offset) + bytes.size();
  if (!end.ok() || end > place.bytes.count()) {
    return absl::InvalidArgumentError(StrCat(bytes.size(), " bytes at byte ", offset, " of tensor ",
                                             name(), ", which has ", place.bytes.value()));
  }
  if (step != options_.step) {
    return absl::FailedPreconditionError(StrCat("bytes of tensor ", name(), " are of step ", step,
                                                "; a checkpoint holds one step only"));
  }
  if (!written_[entry].IsFree(offset, end.value())) {
    return absl::FailedPreconditionError(
        StrCat("bytes ", offset, " to ", end.value(), " of tensor ", name(), " came twice"));
  }
  if (bytes.empty()) return absl::OkStatus();

  OpenFile& file = files_[place.file];
  if (file.file == nullptr) RETURN_IF_ERROR(StartFile(place.file));
  RETURN_IF_ERROR(file.file->WriteAt(place.offset + offset, bytes));
  written_[entry].Add(offset, end.value(), Crc32c(bytes));
  bytes_written_ += Bytes(bytes.size());
  file.missing -= bytes.size();
  file.cached += bytes.size();
  if (file.missing == 0) return FinishFile(place.file);
  if (file.cached < kMostCached) return absl::OkStatus();
  file.cached = 0;
  return file.file->DropCache();
}

absl::Status CheckpointWriter::StartFile(size_t file) {
  const CheckpointFile& plan = layout_.files[file];
  const std::string path = JoinPath(temporary_, plan.name);
  ASSIGN_OR_RETURN(files_[file].file, io_.Open(path, OpenMode::kCreateNew));
  return files_[file].file->WriteAt(0, std::as_bytes(std::span(plan.start)));
}

absl::Status CheckpointWriter::FinishFile(size_t file) {
  OpenFile& state = files_[file];
  RETURN_IF_ERROR(state.file->Sync());
  // Nothing is dirty now, so that this only gives the memory back.
  if (layout_.files[file].bytes.value() >= kMostCached) RETURN_IF_ERROR(state.file->DropCache());
  absl::Status closed = state.file->Close();
  state.file.reset();
  state.is_done = closed.ok();
  return closed;
}

absl::Status CheckpointWriter::WriteTextTo(const std::string& name, const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                   io_.Open(JoinPath(temporary_, name), OpenMode::kCreateNew));
  absl::Status status = file->WriteAt(0, std::as_bytes(std::span(text)));
  if (status.ok()) status = file->Sync();
  const absl::Status closed = file->Close();
  return status.ok() ? closed : status;
}

absl::Status CheckpointWriter::CheckComplete() const {
  for (size_t i = 0; i < written_.size(); ++i) {
    const CheckpointEntry& entry = layout_.entries[i];
    if (written_[i].IsWhole(entry.bytes)) continue;
    return absl::FailedPreconditionError(
        StrCat("tensor ", Quoted(SavedName(layout_.tensors[entry.tensor].name, entry.part)),
               " was not written from byte ", written_[i].FirstMissing(), " of ",
               entry.bytes.value(), " on"));
  }
  return absl::OkStatus();
}

Manifest CheckpointWriter::MakeManifest(const CheckpointFacts& facts) const {
  Manifest manifest{.step = options_.step, .mode = layout_.mode, .facts = facts};
  for (const CheckpointFile& file : layout_.files) {
    manifest.files.push_back({.name = file.name,
                              .bytes = file.bytes,
                              .head_bytes = Bytes(file.start.size()),
                              .crc32c = CrcOf(file.start)});
  }
  for (const ExtraFile& file : options_.extra_files) {
    const Bytes bytes(file.text.size());
    manifest.files.push_back(
        {.name = file.name, .bytes = bytes, .head_bytes = bytes, .crc32c = CrcOf(file.text)});
  }
  for (size_t i = 0; i < layout_.entries.size(); ++i) {
    const CheckpointEntry& entry = layout_.entries[i];
    manifest.tensors.push_back({.name = layout_.tensors[entry.tensor].name,
                                .part = entry.part,
                                .dtype = entry.dtype,
                                .shape = entry.shape,
                                .file = entry.file,
                                .offset = entry.offset,
                                .bytes = entry.bytes,
                                .crc32c = written_[i].crc32c(),
                                .step = options_.step});
  }
  return manifest;
}

absl::Status CheckpointWriter::Commit(const CheckpointFacts& facts) {
  CHECK(facts.job.state_format == layout_.format && !is_committed_);
  if (status_.ok()) return KeepFirstError(CommitUnchecked(facts));
  return status_;
}

absl::Status CheckpointWriter::CommitUnchecked(const CheckpointFacts& facts) {
  CHECK(!temporary_.empty());
  RETURN_IF_ERROR(CheckComplete());
  // Text files, and those whose tensors have no bytes.
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].is_done) continue;
    RETURN_IF_ERROR(StartFile(i));
    RETURN_IF_ERROR(FinishFile(i));
  }
  for (const ExtraFile& file : options_.extra_files) {
    RETURN_IF_ERROR(WriteTextTo(file.name, file.text));
  }
  const std::string manifest = WriteManifest(MakeManifest(facts));
  if (manifest.size() > kMaxManifest.value()) {
    return absl::InvalidArgumentError(
        StrCat("its manifest would take ", manifest.size(), " bytes, more than can be read back"));
  }
  RETURN_IF_ERROR(WriteTextTo(std::string(kManifestFile), manifest));
  RETURN_IF_ERROR(io_.SyncDirectory(temporary_));
  return Publish();
}

absl::Status CheckpointWriter::Publish() {
  RETURN_IF_ERROR(io_.RenameNoReplace(temporary_, path_));
  absl::Status status = io_.SyncDirectory(lock_.checkpoints_folder());
  if (status.ok()) status = Checkpoint::Open(io_, path_).status();
  if (status.ok()) {
    temporary_.clear();
    is_committed_ = true;
    return status;
  }
  return Withdraw(status);
}

// An error means "not saved": the name goes, so that no later prune counts it and the step can be
// saved again.
absl::Status CheckpointWriter::Withdraw(const absl::Status& reason) {
  absl::Status back = io_.RenameNoReplace(path_, temporary_);
  if (back.ok()) back = io_.SyncDirectory(lock_.checkpoints_folder());
  if (back.ok()) return reason;
  // While the name may come back after a power cut, the files have to stay with it.
  temporary_.clear();
  return WithMessage(reason,
                     StrCat(reason.message(), "; do not count on it though it may be seen, ",
                            "since it could not be taken back: ", back.message()));
}

void CheckpointWriter::Abandon() {
  for (OpenFile& state : files_) {
    // About to be removed: no result could change anything.
    if (state.file != nullptr) state.file->Close().IgnoreError();
    state.file.reset();
  }
  if (temporary_.empty()) return;
  RemoveFolder(io_, temporary_).IgnoreError();
  temporary_.clear();
}

}  // namespace horizon
