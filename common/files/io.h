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

// Every file access of the project goes through Io, so that tests can fail, tear or delay any call
// (faulting_io.h) and a lint can prove that nothing goes around it. The real one is PosixIo.
// Errors are Status with the path, the operation and the errno text; see IoErrno. All calls may be
// made from several threads; one File is used by one thread at a time unless only ReadAt is called.

enum class OpenMode {
  kRead,       // must exist
  kCreateNew,  // O_CREAT | O_EXCL: must not exist; written, not read
  kTruncate,   // created or emptied; written, not read
  kAppend,     // created if missing; WriteAt ignores the offset and appends
  // kRead past the system's cache (O_DIRECT): offsets, lengths and addresses are multiples of
  // kDirectAlignment. A file system without it, or a file that is not aligned so, is an error with
  // the errno EINVAL.
  kReadDirect,
};
inline constexpr size_t kDirectAlignment = 4096;

enum class FileKind { kRegular, kDirectory, kOther };

struct FileInfo {
  FileKind kind = FileKind::kOther;
  bool is_symlink = false;  // the name itself is one; the rest describes what it leads to
  Bytes size;
};

// An open file. Close() reports errors; a destructor that has to close logs nothing and loses them.
class File {
 public:
  virtual ~File() = default;
  // Fills `into` from `offset`, fewer bytes only at the end of the file (0: at or past the end).
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) = 0;
  // Writes all of `from` at `offset`, looping on short writes.
  virtual absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) = 0;
  virtual absl::Status Sync() = 0;
  // Writes out what is still dirty and lets the system forget the file's pages, so that a large
  // file does not fill memory with its copy. No Sync, and no error where the system cannot do it;
  // but an error of the writing out is reported here once, and then by no later Sync.
  virtual absl::Status DropCache() = 0;
  virtual absl::StatusOr<FileInfo> Info() = 0;
  virtual absl::Status Close() = 0;
};

// A lock held while this object lives, and gone with the process however it ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Io {
 public:
  virtual ~Io() = default;
  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // Like Rename, but AlreadyExists when `to` is there.
  virtual absl::Status RenameNoReplace(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Unlink(const std::string& path) = 0;
  virtual absl::Status MakeDirectory(const std::string& path) = 0;
  virtual absl::Status RemoveDirectory(const std::string& path) = 0;
  // Names (not paths) in a directory, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  virtual absl::StatusOr<FileInfo> Info(const std::string& path) = 0;
  virtual absl::StatusOr<Bytes> FreeSpace(const std::string& path) = 0;
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  // Takes the lock that the file `path` stands for; the file is created if missing, gets the number
  // of this process and stays for ever. Never waits: FailedPrecondition, naming the process, when
  // another holder has it (of this process too). A symbolic link is refused.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // Whether somebody holds that lock now. Neither makes the file nor writes to it (a missing one is
  // not held), and holders do not notice; whoever asks for the lock in that very moment may be
  // refused once.
  virtual absl::StatusOr<bool> IsLocked(const std::string& path);
};

// The operating system's files. Stateless; opens with O_CLOEXEC, and a non-regular file (FIFO,
// device, directory) is refused with InvalidArgument instead of blocking.
std::unique_ptr<Io> MakePosixIo();

// The status of a failed system call: NotFound for ENOENT / ENOTDIR, ResourceExhausted for ENOSPC /
// EDQUOT / EFBIG / EMFILE / ENFILE / ENOMEM, PermissionDenied for EACCES / EPERM / EROFS,
// AlreadyExists, else Unavailable; each carries the errno as a payload, which is how the program
// tells an I/O error (exit code 6) from others. `attempted` reads after "cannot ".
absl::Status IoError(int error_number, std::string_view attempted);
// The errno a Status carries, or 0 if it is not an I/O error.
int IoErrno(const absl::Status& status);
// The same error with other words, all payloads (the errno) kept. OK stays OK.
absl::Status WithMessage(const absl::Status& status, std::string_view message);

// The whole of a text file, refused when larger than `limit` before anything is allocated; also of
// those whose stated size says nothing (/proc, /sys). DataLoss when the file shrinks meanwhile.
absl::StatusOr<std::string> ReadTextFile(Io& io, const std::string& path, Bytes limit = 16_MiB);
// Writes through a temporary name beside it, syncs, renames over `path` and syncs the directory:
// afterwards the file holds the old text or the new one, never a part. A symbolic link is replaced,
// not followed; a directory or device of that name is refused. After an error the temporary file is
// gone unless the message names it.
absl::Status WriteTextFile(Io& io, const std::string& path, std::string_view text);
// The same for a file too large to hold in memory: `fill` writes it, piece by piece, into the
// temporary file it is given; syncing, closing and renaming are done here.
absl::Status WriteFileAtomically(Io& io, const std::string& path,
                                 const std::function<absl::Status(File&)>& fill);
// "dir/name"; `name` alone when dir is empty.
std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace horizon
