#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "common/checked.h"
#include "common/files/io.h"
#include "common/files/posix_rename.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr uint64_t kLargestOffset = std::numeric_limits<off_t>::max();

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

absl::Status Failed(std::string_view what, std::string_view path) {
  const int error_number = errno;
  return IoError(error_number, StrCat(what, " '", path, "'"));
}

// The system stops at a NUL byte and would act on another file than the one named.
absl::Status CheckPath(const std::string& path) {
  if (path.find('\0') == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("the path '", path.substr(0, path.find('\0')), "...' holds a NUL byte"));
}

std::string_view KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO (named pipe)";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  if (S_ISSOCK(mode)) return "a socket";
  return "a special file";
}

absl::Status NotRegular(const std::string& path, mode_t mode) {
  return absl::InvalidArgumentError(
      StrCat("cannot open '", path, "': it is ", KindName(mode), ", and a regular file is needed"));
}

FileInfo ToInfo(const struct stat& state) {
  FileInfo info;
  if (S_ISREG(state.st_mode)) info.kind = FileKind::kRegular;
  if (S_ISDIR(state.st_mode)) info.kind = FileKind::kDirectory;
  info.size = Bytes(CheckedU64::FromSigned(state.st_size));
  return info;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { Close(); }

  int number() const { return number_; }
  // Never repeated: Linux gives the number back even when close fails, so that a second call could
  // close a file another thread has just opened.
  int Close() { return number_ == -1 ? 0 : ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor descriptor, OpenMode mode)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), mode_(mode) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
    if (offset > kLargestOffset) return 0;
    into = into.first(std::min<uint64_t>(into.size(), kLargestOffset - offset));
    size_t done = 0;
    while (done < into.size()) {
      const ssize_t count = Uninterrupted([&] {
        return ::pread(descriptor_.number(), into.data() + done, into.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (count < 0) return Failed(Span("read", offset, into.size()), path_);
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  }

  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) override {
    const std::string what = Span("write", offset, from.size());
    const bool fits = offset <= kLargestOffset && from.size() <= kLargestOffset - offset;
    if (mode_ != OpenMode::kAppend && !fits) {
      return IoError(EFBIG, StrCat(what, " '", path_, "'"));
    }
    size_t done = 0;
    while (done < from.size()) {
      const ssize_t count =
          Uninterrupted([&] { return WriteOnce(offset + done, from.subspan(done)); });
      if (count < 0) return Failed(what, path_);
      // Not known to happen; without this it would be an endless loop.
      if (count == 0) return IoError(EIO, StrCat(what, " '", path_, "'"));
      done += static_cast<size_t>(count);
    }
    return absl::OkStatus();
  }

  // Not repeated after EINTR either: a failed fsync may have dropped the pages, and the next one
  // would report success for bytes that never reached the disk.
  absl::Status Sync() override {
    if (::fsync(descriptor_.number()) != 0) return Failed("sync", path_);
    return absl::OkStatus();
  }

  absl::Status DropCache() override {
    constexpr unsigned kWriteAndWait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (::sync_file_range(descriptor_.number(), 0, 0, kWriteAndWait) != 0) {
      // Not every file system has it; a real failure takes the error away from the next fsync.
      const bool unknown = errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP;
      return unknown ? absl::OkStatus() : Failed("write out", path_);
    }
    ::posix_fadvise(descriptor_.number(), 0, 0, POSIX_FADV_DONTNEED);
    return absl::OkStatus();
  }

  absl::StatusOr<FileInfo> Info() override {
    struct stat state {};
    if (::fstat(descriptor_.number(), &state) != 0) return Failed("examine", path_);
    return ToInfo(state);
  }

  absl::Status Close() override {
    if (descriptor_.Close() != 0) return Failed("close", path_);
    return absl::OkStatus();
  }

 private:
  ssize_t WriteOnce(uint64_t offset, std::span<const std::byte> from) const {
    if (mode_ == OpenMode::kAppend) return ::write(descriptor_.number(), from.data(), from.size());
    return ::pwrite(descriptor_.number(), from.data(), from.size(), static_cast<off_t>(offset));
  }

  static std::string Span(std::string_view verb, uint64_t offset, size_t size) {
    return StrCat(verb, " ", size, " bytes at offset ", offset, " of");
  }

  const std::string path_;
  Descriptor descriptor_;
  const OpenMode mode_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  const Descriptor descriptor_;  // closing it, or the end of the process, gives the lock back
};

// "process 4711", or what can be said when the holder has not written its number.
std::string HolderOf(int descriptor) {
  char text[24];
  const ssize_t count = ::pread(descriptor, text, sizeof(text), 0);
  std::string digits;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; ++i) digits += text[i];
  return digits.empty() ? "another process" : StrCat("process ", digits);
}

int OpenFlags(OpenMode mode) {
  // Without O_NONBLOCK opening a FIFO waits for its other end before we can see what it is; on a
  // regular file it means nothing.
  constexpr int kAlways = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  switch (mode) {
    case OpenMode::kRead:
      return kAlways | O_RDONLY;
    case OpenMode::kCreateNew:
      return kAlways | O_WRONLY | O_CREAT | O_EXCL;
    case OpenMode::kTruncate:
      return kAlways | O_WRONLY | O_CREAT | O_TRUNC;
    case OpenMode::kAppend:
      return kAlways | O_WRONLY | O_CREAT | O_APPEND;
    case OpenMode::kReadDirect:
      return kAlways | O_RDONLY | O_DIRECT;
  }
  return kAlways;
}

class PosixIo final : public Io {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    RETURN_IF_ERROR(CheckPath(path));
    Descriptor descriptor(
        Uninterrupted([&] { return ::open(path.c_str(), OpenFlags(mode), 0666); }));
    struct stat state {};
    if (descriptor.number() == -1) {
      const int error_number = errno;
      // Sockets, directories and FIFOs without a reader already fail here, each its own way.
      const bool found = ::stat(path.c_str(), &state) == 0;
      if (found && !S_ISREG(state.st_mode) && error_number != EEXIST) {
        return NotRegular(path, state.st_mode);
      }
      const std::string_view what = mode == OpenMode::kRead         ? "open for reading"
                                    : mode == OpenMode::kReadDirect ? "open for direct reading"
                                    : mode == OpenMode::kCreateNew  ? "create"
                                                                    : "open for writing";
      return IoError(error_number, StrCat(what, " '", path, "'"));
    }
    if (::fstat(descriptor.number(), &state) != 0) return Failed("examine", path);
    if (!S_ISREG(state.st_mode)) return NotRegular(path, state.st_mode);
    return std::make_unique<PosixFile>(path, std::move(descriptor), mode);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(CheckPath(from));
    RETURN_IF_ERROR(CheckPath(to));
    if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return Failed(StrCat("rename '", from, "' to"), to);
  }

  absl::Status RenameNoReplace(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(CheckPath(from));
    RETURN_IF_ERROR(CheckPath(to));
    int error_number = RenameNoReplaceAtomically(from, to);
    if (error_number == ENOSYS || error_number == EINVAL) {
      error_number = RenameNoReplaceByLink(from, to);
    }
    if (error_number == 0) return absl::OkStatus();
    return IoError(error_number, StrCat("rename '", from, "' to '", to, "'"));
  }

  absl::Status Unlink(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    return ::unlink(path.c_str()) == 0 ? absl::OkStatus() : Failed("remove", path);
  }

  absl::Status MakeDirectory(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    return ::mkdir(path.c_str(), 0777) == 0 ? absl::OkStatus() : Failed("make directory", path);
  }

  absl::Status RemoveDirectory(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    return ::rmdir(path.c_str()) == 0 ? absl::OkStatus() : Failed("remove directory", path);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    if (directory == nullptr) return Failed("list directory", path);
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's readdir is safe on a stream of one thread.
      const struct dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return Failed("list directory", path);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<FileInfo> Info(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    struct stat name {};
    struct stat target {};
    if (::lstat(path.c_str(), &name) != 0) return Failed("examine", path);
    if (::stat(path.c_str(), &target) != 0) {
      return Failed(S_ISLNK(name.st_mode) ? "follow the symbolic link" : "examine", path);
    }
    FileInfo info = ToInfo(target);
    info.is_symlink = S_ISLNK(name.st_mode);
    return info;
  }

  absl::StatusOr<Bytes> FreeSpace(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    struct statvfs state {};
    if (Uninterrupted([&] { return ::statvfs(path.c_str(), &state); }) != 0) {
      return Failed("ask the free space at", path);
    }
    return Bytes(CheckedU64(state.f_bavail) * CheckedU64(state.f_frsize));
  }

  absl::Status SyncDirectory(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    Descriptor descriptor(Uninterrupted([&] { return ::open(path.c_str(), kFlags); }));
    if (descriptor.number() == -1) return Failed("open directory", path);
    if (::fsync(descriptor.number()) != 0) return Failed("sync directory", path);
    return descriptor.Close() == 0 ? absl::OkStatus() : Failed("close directory", path);
  }

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    Descriptor descriptor(Uninterrupted([&] { return ::open(path.c_str(), kFlags, 0666); }));
    if (descriptor.number() == -1) {
      if (errno != ELOOP) return Failed("open the lock", path);
      return absl::InvalidArgumentError(
          StrCat("cannot lock '", path, "': it is a symbolic link, which a lock may not be"));
    }
    if (Uninterrupted([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return Failed("lock", path);
      return absl::FailedPreconditionError(StrCat("cannot lock '", path,
                                                  "': ", HolderOf(descriptor.number()),
                                                  " holds it; wait until it ends or stop it"));
    }
    // The number only makes messages better: on a full disk the lock holds without it.
    const std::string number = StrCat(::getpid(), "\n");
    if (::ftruncate(descriptor.number(), 0) == 0) {
      static_cast<void>(::pwrite(descriptor.number(), number.data(), number.size(), 0) > 0);
    }
    return std::make_unique<PosixFileLock>(std::move(descriptor));
  }

  absl::StatusOr<bool> IsLocked(const std::string& path) override {
    RETURN_IF_ERROR(CheckPath(path));
    constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const Descriptor descriptor(Uninterrupted([&] { return ::open(path.c_str(), kFlags, 0); }));
    if (descriptor.number() == -1) {
      if (errno == ENOENT) return false;
      return Failed("open the lock", path);
    }
    // Shared, so that two who ask do not see each other.
    if (Uninterrupted([&] { return ::flock(descriptor.number(), LOCK_SH | LOCK_NB); }) == 0) {
      return false;
    }
    if (errno != EWOULDBLOCK) return Failed("look at the lock", path);
    return true;
  }
};

}  // namespace

std::unique_ptr<Io> MakePosixIo() { return std::make_unique<PosixIo>(); }

}  // namespace horizon
