#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"

namespace horizon {

// Files and directories in memory, by number; number 0 is the root directory.
struct MemoryTree {
  std::map<int, std::string> files;
  std::map<int, std::map<std::string, int>> folders = {{0, {}}};
};

// A change of a tree, or the promise that earlier ones will survive a power cut.
struct MemoryChange {
  enum class Kind {
    kWrite,       // `bytes` at `offset` of file `node`
    kSyncFile,    // the writes to `node` so far are safe
    kAddName,     // `name` in folder `node` becomes `target`
    kRemoveName,  // `name` in folder `node` goes
    kRename,      // `name` in folder `node` becomes `to_name` in folder `to_node`
    kSyncFolder,  // the names of folder `node` so far are safe
    kMark,        // nothing; `name` is for the test
  };
  Kind kind = Kind::kMark;
  int node = 0;
  std::string name;
  int target = 0;
  bool target_is_folder = false;
  int to_node = 0;
  std::string to_name;
  uint64_t offset = 0;
  std::string bytes;
};

// A file system in memory that keeps a list of its changes, so that a test can ask what a power cut
// at any moment would leave (power_cut.h). Absolute paths, no links. Its files live no longer than
// it. One thread.
class MemoryIo final : public Io {
 public:
  explicit MemoryIo(MemoryTree tree = {});

  // The tree when recording began, the changes since, and the tree now.
  const MemoryTree& start() const { return start_; }
  const std::vector<MemoryChange>& changes() const { return changes_; }
  const MemoryTree& tree() const { return tree_; }
  // Forgets the changes: everything there is has reached the disk.
  void Settle();
  void Mark(std::string text);

  // Writing past this many bytes of all files is ENOSPC, after the bytes that still fit.
  uint64_t capacity = std::numeric_limits<uint64_t>::max();
  // What FreeSpace answers.
  Bytes free_space = 1024_GiB;

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status RenameNoReplace(const std::string& from, const std::string& to) override;
  absl::Status Unlink(const std::string& path) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override;
  absl::StatusOr<FileInfo> Info(const std::string& path) override;
  absl::StatusOr<Bytes> FreeSpace(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

 private:
  class MemoryFile;
  class MemoryLock;
  struct Place {
    int folder = 0;
    std::string name;
    int node = -1;  // -1: there is nothing of that name
  };
  absl::StatusOr<Place> Find(const std::string& path, std::string_view attempted) const;
  // As Find, and NotFound where there is nothing.
  absl::StatusOr<Place> FindExisting(const std::string& path, std::string_view attempted) const;
  void Change(MemoryChange change);
  uint64_t UsedBytes() const;

  MemoryTree start_;
  MemoryTree tree_;
  std::vector<MemoryChange> changes_;
  int next_node_ = 1;
  std::set<std::string> locked_;
};

// Makes a change in a tree. Names that are not there are not removed.
void ApplyChange(const MemoryChange& change, MemoryTree& tree);

}  // namespace horizon
