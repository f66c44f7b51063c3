#include "tests/common/files/memory_io.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

using Kind = MemoryChange::Kind;

absl::Status Fail(int error_number, std::string_view what, const std::string& path) {
  return IoError(error_number, StrCat(what, " '", path, "'"));
}

}  // namespace

void ApplyChange(const MemoryChange& change, MemoryTree& tree) {
  switch (change.kind) {
    case Kind::kWrite: {
      std::string& data = tree.files[change.node];
      const size_t end = change.offset + change.bytes.size();
      if (data.size() < end) data.resize(end, '\0');
      std::copy(change.bytes.begin(), change.bytes.end(), data.begin() + change.offset);
      break;
    }
    case Kind::kAddName:
      tree.folders[change.node][change.name] = change.target;
      break;
    case Kind::kRemoveName:
      tree.folders[change.node].erase(change.name);
      break;
    case Kind::kRename:
      tree.folders[change.node].erase(change.name);
      tree.folders[change.to_node][change.to_name] = change.target;
      break;
    case Kind::kSyncFile:
    case Kind::kSyncFolder:
    case Kind::kMark:
      break;
  }
}

class MemoryIo::MemoryFile final : public File {
 public:
  MemoryFile(MemoryIo& io, std::string path, int node)
      : io_(io), path_(std::move(path)), node_(node) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
    const std::string& data = io_.tree_.files[node_];
    if (offset >= data.size()) return 0;
    const size_t count = std::min<uint64_t>(into.size(), data.size() - offset);
    const auto bytes = std::as_bytes(std::span(data)).subspan(offset, count);
    std::copy(bytes.begin(), bytes.end(), into.begin());
    return count;
  }

  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) override {
    const uint64_t used = io_.UsedBytes();
    const uint64_t room = io_.capacity > used ? io_.capacity - used : 0;
    const uint64_t count = std::min<uint64_t>(from.size(), room);
    io_.Change({.kind = Kind::kWrite,
                .node = node_,
                .offset = offset,
                .bytes = std::string(reinterpret_cast<const char*>(from.data()), count)});
    return count == from.size() ? absl::OkStatus() : Fail(ENOSPC, "write", path_);
  }

  absl::Status Sync() override {
    io_.Change({.kind = Kind::kSyncFile, .node = node_});
    return absl::OkStatus();
  }
  absl::Status DropCache() override { return absl::OkStatus(); }
  absl::StatusOr<FileInfo> Info() override {
    return FileInfo{.kind = FileKind::kRegular,
                    .size = Bytes(CheckedU64(io_.tree_.files[node_].size()))};
  }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  MemoryIo& io_;
  const std::string path_;
  const int node_;
};

class MemoryIo::MemoryLock final : public FileLock {
 public:
  MemoryLock(MemoryIo& io, std::string path) : io_(io), path_(std::move(path)) {
    io_.locked_.insert(path_);
  }
  ~MemoryLock() override { io_.locked_.erase(path_); }

 private:
  MemoryIo& io_;
  const std::string path_;
};

MemoryIo::MemoryIo(MemoryTree tree) : start_(tree), tree_(std::move(tree)) {
  for (const auto& [node, data] : tree_.files) next_node_ = std::max(next_node_, node + 1);
  for (const auto& [node, names] : tree_.folders) next_node_ = std::max(next_node_, node + 1);
}

void MemoryIo::Settle() {
  start_ = tree_;
  changes_.clear();
}

void MemoryIo::Mark(std::string text) { Change({.kind = Kind::kMark, .name = std::move(text)}); }

void MemoryIo::Change(MemoryChange change) {
  ApplyChange(change, tree_);
  changes_.push_back(std::move(change));
}

uint64_t MemoryIo::UsedBytes() const {
  uint64_t used = 0;
  for (const auto& [node, data] : tree_.files) used += data.size();
  return used;
}

absl::StatusOr<MemoryIo::Place> MemoryIo::Find(const std::string& path,
                                               std::string_view attempted) const {
  Place place{.node = 0};
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) {
      const auto folder = tree_.folders.find(place.node);
      if (folder == tree_.folders.end()) {
        return Fail(place.node == -1 ? ENOENT : ENOTDIR, attempted, path);
      }
      place = {.folder = place.node, .name = path.substr(begin, end - begin)};
      const auto found = folder->second.find(place.name);
      if (found != folder->second.end()) place.node = found->second;
    }
    begin = end + 1;
  }
  return place;
}

absl::StatusOr<MemoryIo::Place> MemoryIo::FindExisting(const std::string& path,
                                                       std::string_view attempted) const {
  ASSIGN_OR_RETURN(Place place, Find(path, attempted));
  if (place.node == -1) return Fail(ENOENT, attempted, path);
  return place;
}

absl::StatusOr<std::unique_ptr<File>> MemoryIo::Open(const std::string& path, OpenMode mode) {
  ASSIGN_OR_RETURN(Place place, Find(path, "open"));
  // As a file system without it, so that nobody counts on it.
  if (mode == OpenMode::kReadDirect) return Fail(EINVAL, "open", path);
  if (place.node == -1 && mode == OpenMode::kRead) return Fail(ENOENT, "open", path);
  if (place.node != -1 && mode == OpenMode::kCreateNew) return Fail(EEXIST, "create", path);
  if (tree_.folders.contains(place.node)) return absl::InvalidArgumentError("a folder");
  if (place.node == -1) {
    place.node = next_node_++;
    tree_.files[place.node];
    Change(
        {.kind = Kind::kAddName, .node = place.folder, .name = place.name, .target = place.node});
  } else if (mode != OpenMode::kRead) {
    return absl::UnimplementedError("files that exist are only read here");
  }
  return std::make_unique<MemoryFile>(*this, path, place.node);
}

absl::Status MemoryIo::Rename(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const Place source, FindExisting(from, "rename"));
  ASSIGN_OR_RETURN(const Place target, Find(to, "rename"));
  Change({.kind = Kind::kRename,
          .node = source.folder,
          .name = source.name,
          .target = source.node,
          .to_node = target.folder,
          .to_name = target.name});
  return absl::OkStatus();
}

absl::Status MemoryIo::RenameNoReplace(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const Place target, Find(to, "rename"));
  if (target.node != -1) return Fail(EEXIST, "rename to", to);
  return Rename(from, to);
}

absl::Status MemoryIo::Unlink(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, FindExisting(path, "remove"));
  if (tree_.folders.contains(place.node)) return Fail(EISDIR, "remove", path);
  Change({.kind = Kind::kRemoveName, .node = place.folder, .name = place.name});
  tree_.files.erase(place.node);
  return absl::OkStatus();
}

absl::Status MemoryIo::MakeDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, Find(path, "make directory"));
  if (place.node != -1) return Fail(EEXIST, "make directory", path);
  const int node = next_node_++;
  tree_.folders[node];
  Change({.kind = Kind::kAddName,
          .node = place.folder,
          .name = place.name,
          .target = node,
          .target_is_folder = true});
  return absl::OkStatus();
}

absl::Status MemoryIo::RemoveDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, FindExisting(path, "remove directory"));
  const auto folder = tree_.folders.find(place.node);
  if (folder == tree_.folders.end()) return Fail(ENOTDIR, "remove directory", path);
  if (!folder->second.empty()) return Fail(ENOTEMPTY, "remove directory", path);
  Change({.kind = Kind::kRemoveName, .node = place.folder, .name = place.name});
  tree_.folders.erase(place.node);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> MemoryIo::List(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, FindExisting(path, "list"));
  const auto folder = tree_.folders.find(place.node);
  if (folder == tree_.folders.end()) return Fail(ENOTDIR, "list", path);
  std::vector<std::string> names;
  for (const auto& [name, node] : folder->second) names.push_back(name);
  return names;
}

absl::StatusOr<FileInfo> MemoryIo::Info(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, FindExisting(path, "examine"));
  FileInfo info{.kind = FileKind::kDirectory};
  const auto file = tree_.files.find(place.node);
  if (file == tree_.files.end()) return info;
  return FileInfo{.kind = FileKind::kRegular, .size = Bytes(CheckedU64(file->second.size()))};
}

absl::StatusOr<Bytes> MemoryIo::FreeSpace(const std::string& path) {
  RETURN_IF_ERROR(FindExisting(path, "ask the free space at").status());
  return free_space;
}

absl::Status MemoryIo::SyncDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, FindExisting(path, "sync directory"));
  Change({.kind = Kind::kSyncFolder, .node = place.node});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> MemoryIo::Lock(const std::string& path) {
  ASSIGN_OR_RETURN(const Place place, Find(path, "lock"));
  if (locked_.contains(path)) return absl::FailedPreconditionError("locked");
  if (place.node == -1) RETURN_IF_ERROR(Open(path, OpenMode::kCreateNew).status());
  return std::make_unique<MemoryLock>(*this, path);
}

}  // namespace horizon
