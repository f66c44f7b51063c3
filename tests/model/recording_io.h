#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/files/io.h"

namespace horizon {

// One positioned read or write, with the memory it went to or came from.
struct Transfer {
  std::string path;
  bool is_write = false;
  uint64_t offset = 0;
  size_t bytes = 0;
  const std::byte* memory = nullptr;
};

// Hands every call on and keeps a list of what was read and written where. Outlives its files; one
// thread.
class RecordingIo : public Io {
 public:
  explicit RecordingIo(Io& inner) : inner_(inner) {}

  std::vector<Transfer> transfers;

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    absl::StatusOr<std::unique_ptr<File>> file = inner_.Open(path, mode);
    if (!file.ok()) return file.status();
    return std::make_unique<RecordingFile>(path, *std::move(file), transfers);
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
    return inner_.SyncDirectory(path);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return inner_.Lock(path);
  }

 private:
  class RecordingFile : public File {
   public:
    RecordingFile(std::string path, std::unique_ptr<File> inner, std::vector<Transfer>& transfers)
        : path_(std::move(path)), inner_(std::move(inner)), transfers_(transfers) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
      transfers_.push_back({path_, false, offset, into.size(), into.data()});
      return inner_->ReadAt(offset, into);
    }
    absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) override {
      transfers_.push_back({path_, true, offset, from.size(), from.data()});
      return inner_->WriteAt(offset, from);
    }
    absl::Status Sync() override { return inner_->Sync(); }
    absl::Status DropCache() override { return inner_->DropCache(); }
    absl::StatusOr<FileInfo> Info() override { return inner_->Info(); }
    absl::Status Close() override { return inner_->Close(); }

   private:
    std::string path_;
    std::unique_ptr<File> inner_;
    std::vector<Transfer>& transfers_;
  };

  Io& inner_;
};

}  // namespace horizon
