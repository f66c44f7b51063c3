#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

// Every file access of the project goes through Io. Tests can therefore fail, tear or delay any
// call (faulting_io.h), and tools/lint_seams.sh checks that no code bypasses it. The program uses
// MakePosixIo().
// An error is a Status that names the operation, the path and the errno text; see IoErrno. Several
// threads may use one Io. One File is used by one thread at a time, except that ReadAt may be
// called from several threads.

// How Io::Open opens a file.
enum class OpenMode {
  kRead,       // the file must exist
  kCreateNew,  // O_CREAT | O_EXCL: the file must not exist; for writing only
  kTruncate,   // creates or empties the file; for writing only
  kAppend,     // creates the file if it is missing; WriteAt ignores the offset and appends
  // Reads without the page cache (O_DIRECT). Offsets, lengths and addresses must be multiples of
  // kDirectAlignment. If the file system does not support it, or an access is not aligned, the
  // error has errno EINVAL.
  kReadDirect,
};
inline constexpr size_t kDirectAlignment = 4096;

// What a path leads to.
enum class FileKind { kRegular, kDirectory, kOther };

// What Io::Info reports about a path.
struct FileInfo {
  FileKind kind = FileKind::kOther;
  bool is_symlink = false;  // the name itself is a link; the other fields describe its target
  Bytes size;
};

// An open file. Call Close() before destroying it: Close() reports errors, the destructor ignores
// them.
class File {
 public:
  virtual ~File() = default;
  // Reads into `into` from `offset` and returns the number of bytes, which is smaller than asked
  // only at the end of the file (0: `offset` is at or past the end).
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) = 0;
  // Writes all of `from` at `offset`; it repeats short writes.
  virtual absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) = 0;
  virtual absl::Status Sync() = 0;
  // Writes dirty pages out and drops the file from the page cache, so that a large file does not
  // fill memory. It does not replace Sync, and it is no error if the system cannot do it. An error
  // of writing the pages out, however, is reported here, and no later Sync reports it again.
  virtual absl::Status DropCache() = 0;
  virtual absl::StatusOr<FileInfo> Info() = 0;
  virtual absl::Status Close() = 0;
};

// A lock that is held while this object exists. It is released when the process ends, however that
// happens.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// The operations on a file system.
class Io {
 public:
  virtual ~Io() = default;
  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // Like Rename, but AlreadyExists if `to` exists.
  virtual absl::Status RenameNoReplace(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Unlink(const std::string& path) = 0;
  virtual absl::Status MakeDirectory(const std::string& path) = 0;
  virtual absl::Status RemoveDirectory(const std::string& path) = 0;
  // The names (not paths) in a directory, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  virtual absl::StatusOr<FileInfo> Info(const std::string& path) = 0;
  virtual absl::StatusOr<Bytes> FreeSpace(const std::string& path) = 0;
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  // Takes the lock that the file `path` stands for. The file is created if it is missing, holds the
  // id of this process, and is never removed. Lock does not wait: if anyone holds the lock,
  // including this process, it returns FailedPrecondition and names the process. A symbolic link is
  // refused.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // Whether anyone holds that lock now. It neither creates the file (the lock of a missing file is
  // not held) nor writes to it, and does not disturb a holder. A call of Lock at the same moment
  // may fail once.
  virtual absl::StatusOr<bool> IsLocked(const std::string& path);
};

// The operating system's files. The object has no state. It opens files with O_CLOEXEC, and refuses
// anything but a regular file (a FIFO, device or directory) with InvalidArgument instead of
// blocking.
std::unique_ptr<Io> MakePosixIo();

// The status of a failed system call: NotFound for ENOENT / ENOTDIR, ResourceExhausted for ENOSPC /
// EDQUOT / EFBIG / EMFILE / ENFILE / ENOMEM, PermissionDenied for EACCES / EPERM / EROFS,
// AlreadyExists for EEXIST, else Unavailable. The status carries the errno as a payload, by which
// the program distinguishes I/O errors (exit code 6) from others. `attempted` completes the message
// "cannot ...".
absl::Status IoError(int error_number, std::string_view attempted);
// The errno that a Status carries, or 0 if it is not an I/O error.
int IoErrno(const absl::Status& status);
// The same error with another message; its code and payloads, such as the errno, are kept. OK stays
// OK.
absl::Status WithMessage(const absl::Status& status, std::string_view message);

// Reads a whole text file. A file larger than `limit` is InvalidArgument before anything is
// allocated. It also reads files whose reported size is wrong (/proc, /sys). DataLoss if the file
// shrinks while it is read.
absl::StatusOr<std::string> ReadTextFile(Io& io, const std::string& path, Bytes limit = 16_MiB);
// Writes a text file atomically: it writes a temporary file in the same directory, syncs it,
// renames it to `path` and syncs the directory. Whatever happens, the file then holds the old text
// or the new one, never a part. A symbolic link is replaced, not followed; a directory or device of
// that name is refused. After an error the temporary file is removed, unless the message names it.
absl::Status WriteTextFile(Io& io, const std::string& path, std::string_view text);
// The same for a file that is too large to hold in memory: `fill` writes the contents into the
// temporary file that it gets. This function syncs, closes and renames it.
absl::Status WriteFileAtomically(Io& io, const std::string& path,
                                 const std::function<absl::Status(File&)>& fill);
// "directory/name", or `name` alone if `directory` is empty.
std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace horizon
