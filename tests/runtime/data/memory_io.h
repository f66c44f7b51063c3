#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// One file that lies in memory and is only read: for tests that read thousands. Everything else is
// Unimplemented.
class MemoryIo final : public Io {
 public:
  MemoryIo(std::string path, std::string bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    if (path != path_ || mode != OpenMode::kRead) return absl::NotFoundError(path);
    return std::make_unique<MemoryFile>(bytes_);
  }
  absl::StatusOr<FileInfo> Info(const std::string& path) override {
    if (path != path_) return absl::NotFoundError(path);
    return MemoryFile(bytes_).Info();
  }
  absl::Status Rename(const std::string&, const std::string&) override { return Cannot(); }
  absl::Status RenameNoReplace(const std::string&, const std::string&) override { return Cannot(); }
  absl::Status Unlink(const std::string&) override { return Cannot(); }
  absl::Status MakeDirectory(const std::string&) override { return Cannot(); }
  absl::Status RemoveDirectory(const std::string&) override { return Cannot(); }
  absl::StatusOr<std::vector<std::string>> List(const std::string&) override { return Cannot(); }
  absl::StatusOr<Bytes> FreeSpace(const std::string&) override { return Cannot(); }
  absl::Status SyncDirectory(const std::string&) override { return Cannot(); }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string&) override { return Cannot(); }

 private:
  static absl::Status Cannot() { return absl::UnimplementedError("a file in memory is only read"); }

  class MemoryFile final : public File {
   public:
    explicit MemoryFile(const std::string& bytes) : bytes_(bytes) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
      if (offset >= bytes_.size()) return 0;
      const size_t count = std::min<size_t>(into.size(), bytes_.size() - offset);
      std::memcpy(into.data(), bytes_.data() + offset, count);
      return count;
    }
    absl::Status WriteAt(uint64_t, std::span<const std::byte>) override { return Cannot(); }
    absl::Status Sync() override { return Cannot(); }
    absl::Status DropCache() override { return Cannot(); }
    absl::StatusOr<FileInfo> Info() override {
      return FileInfo{.kind = FileKind::kRegular, .size = Bytes(CheckedU64(bytes_.size()))};
    }
    absl::Status Close() override { return absl::OkStatus(); }

   private:
    const std::string& bytes_;
  };

  const std::string path_;
  const std::string bytes_;
};

}  // namespace horizon
