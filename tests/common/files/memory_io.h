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

// Files and directories in memory. Each has a number, its node; node 0 is the root directory.
struct MemoryTree {
  std::map<int, std::string> files;                               // node to contents
  std::map<int, std::map<std::string, int>> folders = {{0, {}}};  // node to names and their nodes
};

// A change of a tree, or a sync, which promises that earlier changes survive a power cut.
struct MemoryChange {
  enum class Kind {
    kWrite,       // writes `bytes` at `offset` of file `node`
    kSyncFile,    // the writes to `node` so far are safe
    kAddName,     // adds `name` for node `target` to folder `node`
    kRemoveName,  // removes `name` from folder `node`
    kRename,      // `name` in folder `node` becomes `to_name` in folder `to_node`
    kSyncFolder,  // the names of folder `node` so far are safe
    kMark,        // changes nothing; `name` is a note of the test
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

// A file system in memory that records its changes, so that a test can compute what a power cut at
// any moment would leave (power_cut.h). It takes absolute paths and has no links. It must outlive
// its files. One thread uses it.
class MemoryIo final : public Io {
 public:
  explicit MemoryIo(MemoryTree tree = {});

  // The tree when recording began, the changes since then, and the tree now.
  const MemoryTree& start() const { return start_; }
  const std::vector<MemoryChange>& changes() const { return changes_; }
  const MemoryTree& tree() const { return tree_; }
  // Restarts recording from the tree as it is now, as if everything had reached the disk.
  void Settle();
  // Records a kMark with this text.
  void Mark(std::string text);

  // The size of the disk: a write that makes all files together larger writes what still fits and
  // then fails with ENOSPC.
  uint64_t capacity = std::numeric_limits<uint64_t>::max();
  // The result of FreeSpace.
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
    int node = -1;  // -1: the name does not exist
  };
  absl::StatusOr<Place> Find(const std::string& path, std::string_view attempted) const;
  // Like Find, but NotFound if the name does not exist.
  absl::StatusOr<Place> FindExisting(const std::string& path, std::string_view attempted) const;
  void Change(MemoryChange change);
  uint64_t UsedBytes() const;

  MemoryTree start_;
  MemoryTree tree_;
  std::vector<MemoryChange> changes_;
  int next_node_ = 1;
  std::set<std::string> locked_;
};

// Applies a change to a tree. Removing a name that does not exist does nothing.
void ApplyChange(const MemoryChange& change, MemoryTree& tree);

}  // namespace horizon
