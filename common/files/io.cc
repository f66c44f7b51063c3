#include "common/files/io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/types/optional.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr char kErrnoPayload[] = "horizon/errno";
// Left-over temporary names of killed processes are stepped over, not counted for ever.
constexpr int kTemporaryNames = 100;
constexpr uint64_t kReadAhead = 4096;

absl::StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

std::string_view WhatToTry(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return "; check the path";
    case ENOSPC:
    case EDQUOT:
      return "; free some space or choose another folder";
    case EFBIG:
      return "; raise the limit on file sizes (ulimit -f) or choose another file system";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    case EACCES:
    case EPERM:
      return "; check owner and permissions";
    case EROFS:
      return "; choose a folder that can be written";
    default:
      return "";
  }
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

struct TemporaryFile {
  std::string path;
  std::unique_ptr<File> file;
};

absl::StatusOr<TemporaryFile> CreateBeside(Io& io, const std::string& path) {
  absl::Status last;
  for (int i = 0; i < kTemporaryNames; ++i) {
    std::string name = StrCat(path, ".tmp-", ::getpid(), "-", i);
    absl::StatusOr<std::unique_ptr<File>> file = io.Open(name, OpenMode::kCreateNew);
    if (file.ok()) return TemporaryFile{std::move(name), *std::move(file)};
    last = file.status();
    if (!absl::IsAlreadyExists(last)) break;
  }
  return last;
}

// Closes in every case, since a descriptor is owed back even when the text did not get out.
absl::Status FillSyncClose(File& file, const std::function<absl::Status(File&)>& fill) {
  absl::Status status = fill(file);
  if (status.ok()) status = file.Sync();
  absl::Status closed = file.Close();
  return status.ok() ? closed : status;
}

absl::Status TooLarge(const std::string& path, Bytes limit) {
  return absl::InvalidArgumentError(StrCat("cannot read '", path, "': it is larger than ",
                                           limit.value(), " bytes, the limit for such a file"));
}

// Reads to the end, growing the text as the file proves longer than `size` said (files of /proc
// say 0), never past limit + 1 bytes.
absl::StatusOr<std::string> ReadToEnd(File& file, const std::string& path, uint64_t size,
                                      Bytes limit) {
  std::string text;
  uint64_t capacity = std::max(size, kReadAhead) + 1;
  size_t filled = 0;
  while (true) {
    text.resize(std::min(capacity, limit.value() + 1));
    auto rest = std::as_writable_bytes(std::span(text).subspan(filled));
    ASSIGN_OR_RETURN(const size_t count, file.ReadAt(filled, rest));
    filled += count;
    if (count < rest.size()) break;
    if (filled > limit.value()) return TooLarge(path, limit);
    capacity = 2 * text.size();
  }
  text.resize(filled);
  return text;
}

}  // namespace

absl::StatusOr<bool> Io::IsLocked(const std::string& path) {
  const absl::StatusOr<FileInfo> info = Info(path);
  if (absl::IsNotFound(info.status())) return false;
  RETURN_IF_ERROR(info.status());
  const absl::StatusOr<std::unique_ptr<FileLock>> lock = Lock(path);
  if (absl::IsFailedPrecondition(lock.status())) return true;
  RETURN_IF_ERROR(lock.status());
  return false;
}

absl::Status IoError(int error_number, std::string_view attempted) {
  const char* description = ::strerrordesc_np(error_number);
  std::string reason = description != nullptr ? description : StrCat("error number ", error_number);
  absl::Status status(CodeOf(error_number),
                      StrCat("cannot ", attempted, ": ", reason, WhatToTry(error_number)));
  status.SetPayload(kErrnoPayload, absl::Cord(StrCat(error_number)));
  return status;
}

int IoErrno(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kErrnoPayload);
  if (!payload.has_value()) return 0;
  const std::string text(*payload);
  int error_number = 0;
  std::from_chars(text.data(), text.data() + text.size(), error_number);
  return error_number;
}

absl::Status WithMessage(const absl::Status& status, std::string_view message) {
  if (status.ok()) return status;
  absl::Status result(status.code(), StrCat(message));
  status.ForEachPayload(
      [&](auto type, const absl::Cord& payload) { result.SetPayload(type, payload); });
  return result;
}

absl::StatusOr<std::string> ReadTextFile(Io& io, const std::string& path, Bytes limit) {
  CHECK((limit + 1_B).ok());
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const FileInfo before, file->Info());
  if (before.size > limit) return TooLarge(path, limit);
  ASSIGN_OR_RETURN(std::string text, ReadToEnd(*file, path, before.size.value(), limit));
  if (text.size() < before.size.value()) {
    // Files of /sys state a page and hold less, which is no change; a truncated one states less.
    ASSIGN_OR_RETURN(const FileInfo after, file->Info());
    if (after.size < before.size) {
      return absl::DataLossError(StrCat("cannot read '", path, "': it shrank from ",
                                        before.size.value(), " to ", after.size.value(),
                                        " bytes meanwhile; is something writing it?"));
    }
  }
  RETURN_IF_ERROR(file->Close());
  return text;
}

absl::Status WriteTextFile(Io& io, const std::string& path, std::string_view text) {
  return WriteFileAtomically(
      io, path, [text](File& file) { return file.WriteAt(0, std::as_bytes(std::span(text))); });
}

absl::Status WriteFileAtomically(Io& io, const std::string& path,
                                 const std::function<absl::Status(File&)>& fill) {
  // A rename would put a plain file in the place of a device such as /dev/null.
  if (absl::StatusOr<FileInfo> info = io.Info(path); !info.ok()) {
    if (!absl::IsNotFound(info.status())) return info.status();
  } else if (info->kind != FileKind::kRegular) {
    return absl::InvalidArgumentError(
        StrCat("cannot write '", path, "': it exists and is not a regular file"));
  }
  ASSIGN_OR_RETURN(TemporaryFile temporary, CreateBeside(io, path));
  absl::Status status = FillSyncClose(*temporary.file, fill);
  temporary.file.reset();
  if (status.ok()) status = io.Rename(temporary.path, path);
  if (!status.ok()) {
    if (absl::Status removed = io.Unlink(temporary.path); !removed.ok()) {
      return WithMessage(status, StrCat(status.message(), "; and the unfinished '", temporary.path,
                                        "' stays: ", removed.message()));
    }
    return status;
  }
  return io.SyncDirectory(DirectoryOf(path));
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return StrCat(directory, directory.back() == '/' ? "" : "/", name);
}

}  // namespace horizon
