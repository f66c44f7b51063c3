#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/files/io.h"

namespace horizon {

// Bugs a writer of checkpoints could have, as an Io that says a sync was made and does not make it.
enum class Forgets {
  kNothing,
  kShardSync,            // no_file_fsync
  kManifestSync,         // no_file_fsync
  kTemporaryFolderSync,  // no_dir_fsync
  kParentFolderSync,     // no_dir_fsync; also unlink_before_rename, as far as the disk sees it
};

class ForgetfulIo final : public Io {
 public:
  ForgetfulIo(Io& inner, Forgets forgets) : inner_(inner), forgets_(forgets) {}

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    absl::StatusOr<std::unique_ptr<File>> file = inner_.Open(path, mode);
    if (!file.ok()) return file.status();
    const bool forgets = (path.ends_with(".safetensors") && forgets_ == Forgets::kShardSync) ||
                         (path.ends_with("manifest.json") && forgets_ == Forgets::kManifestSync);
    return std::make_unique<ForgetfulFile>(*std::move(file), forgets);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return inner_.Rename(from, to);
  }
  absl::Status RenameNoReplace(const std::string& from, const std::string& to) override {
    return inner_.RenameNoReplace(from, to);
  }
  absl::Status Unlink(const std::string& path) override { return inner_.Unlink(path); }
  absl::Status MakeDirectory(const std::string& path) override {
    return inner_.MakeDirectory(path);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return inner_.RemoveDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    return inner_.List(path);
  }
  absl::StatusOr<FileInfo> Info(const std::string& path) override { return inner_.Info(path); }
  absl::StatusOr<Bytes> FreeSpace(const std::string& path) override {
    return inner_.FreeSpace(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    const bool is_temporary = path.find(".tmp-") != std::string::npos;
    const Forgets which = is_temporary ? Forgets::kTemporaryFolderSync : Forgets::kParentFolderSync;
    return forgets_ == which ? absl::OkStatus() : inner_.SyncDirectory(path);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return inner_.Lock(path);
  }

 private:
  class ForgetfulFile final : public File {
   public:
    ForgetfulFile(std::unique_ptr<File> inner, bool forgets)
        : inner_(std::move(inner)), forgets_(forgets) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
      return inner_->ReadAt(offset, into);
    }
    absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) override {
      return inner_->WriteAt(offset, from);
    }
    absl::Status Sync() override { return forgets_ ? absl::OkStatus() : inner_->Sync(); }
    absl::Status DropCache() override { return inner_->DropCache(); }
    absl::StatusOr<FileInfo> Info() override { return inner_->Info(); }
    absl::Status Close() override { return inner_->Close(); }

   private:
    const std::unique_ptr<File> inner_;
    const bool forgets_;
  };

  Io& inner_;
  const Forgets forgets_;
};

}  // namespace horizon
