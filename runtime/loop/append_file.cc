#include "runtime/loop/append_file.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/files/posix_truncate.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

// Where the last whole line ends, looking back from `size`.
absl::StatusOr<uint64_t> EndOfLines(Io& io, const std::string& path, uint64_t size) {
  constexpr uint64_t kPiece = 4096;
  // A file that is opened to be added to cannot be read.
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io.Open(path, OpenMode::kRead));
  std::vector<std::byte> piece(kPiece);
  for (uint64_t end = size; end > 0;) {
    const uint64_t begin = end - std::min(end, kPiece);
    ASSIGN_OR_RETURN(const size_t count, file->ReadAt(begin, std::span(piece).first(end - begin)));
    for (size_t i = count; i > 0; --i) {
      if (piece[i - 1] == std::byte{'\n'}) return begin + i;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

AppendFile::AppendFile(Io& io, Options options, Listener warn)
    : io_(io), options_(std::move(options)), warn_(std::move(warn)) {}

AppendFile::~AppendFile() { Close(); }

std::string AppendFile::Entries(int64_t count) const {
  return StrCat(count, " ", options_.entry, count == 1 ? "" : "s");
}

absl::Status AppendFile::Open() {
  if (file_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, io_.Open(options_.path, OpenMode::kAppend));
  ASSIGN_OR_RETURN(const FileInfo info, file->Info());
  whole_ = info.size.value();
  if (options_.end_of_entries) {
    ASSIGN_OR_RETURN(whole_, options_.end_of_entries(io_, options_.path, info.size.value()));
  }
  has_part_ = whole_ < info.size.value();
  file_ = std::move(file);
  return CutPart();
}

absl::Status AppendFile::CutPart() {
  if (!has_part_) return absl::OkStatus();
  RETURN_IF_ERROR(TruncateFile(options_.path, whole_));
  has_part_ = false;
  return absl::OkStatus();
}

absl::Status AppendFile::Write() {
  RETURN_IF_ERROR(Open());
  RETURN_IF_ERROR(CutPart());
  if (kept_.empty()) return absl::OkStatus();
  const std::string header = whole_ == 0 ? options_.header : std::string();
  const std::string bytes = header + kept_;
  absl::Status written = file_->WriteAt(whole_, std::as_bytes(std::span(bytes)));
  if (written.ok()) {
    whole_ += bytes.size();
    kept_.clear();
    sizes_.clear();
    return absl::OkStatus();
  }
  has_part_ = true;
  // The entries that found room stay. A header stays with the first of them.
  if (const absl::StatusOr<FileInfo> info = file_->Info(); info.ok()) {
    const uint64_t size = info->size.value();
    const uint64_t went = std::min<uint64_t>(size - std::min(size, whole_), bytes.size());
    uint64_t complete = header.size();
    int64_t count = 0;
    for (const size_t entry : sizes_) {
      if (complete + entry > went) break;
      complete += entry;
      ++count;
    }
    if (count > 0) {
      whole_ += complete;
      ForgetOldest(count);
    }
  }
  CutPart().IgnoreError();  // or before the next entry is written
  return written;
}

void AppendFile::Append(std::string_view entry) {
  kept_ += entry;
  sizes_.push_back(entry.size());
  NoteOutcome(Write());
  if (kept_.size() > kMostKept) DropOldestEntries();
}

void AppendFile::ForgetOldest(int64_t count) {
  size_t bytes = 0;
  for (; count > 0; --count) {
    bytes += sizes_.front();
    sizes_.pop_front();
  }
  kept_.erase(0, bytes);
}

// Drops the oldest entries, so that the rest fits.
void AppendFile::DropOldestEntries() {
  size_t rest = kept_.size();
  int64_t count = 0;
  for (; rest > kMostKept; ++count) rest -= sizes_[static_cast<size_t>(count)];
  lost_ += count;
  ForgetOldest(count);
}

void AppendFile::NoteOutcome(const absl::Status& status) {
  if (!status.ok() && !warned_) {
    warned_ = true;
    warn_(StrCat(std::string(status.message()), ". Training goes on; the ", options_.entry, "s of ",
                 options_.path, " are kept in memory (at most ",
                 ToString(Bytes(CheckedU64(kMostKept))),
                 ") and written when that is possible again"));
  }
  if (status.ok() && failing_ && !recovery_reported_) {
    recovery_reported_ = true;
    warn_(StrCat(options_.path, " is written again; ",
                 lost_ == 0 ? StrCat("no ", options_.entry, " is lost")
                            : StrCat(Entries(lost_), " could not be kept")));
  }
  failing_ = !status.ok();
}

void AppendFile::Sync() {
  if (file_ == nullptr && kept_.empty()) return;  // there never was an entry
  NoteOutcome(Write());
  if (failing_ || file_ == nullptr) return;
  // What a failed sync has dropped cannot be known, and so not be written again.
  const absl::Status synced = file_->Sync();
  if (synced.ok() || std::exchange(warned_, true)) return;
  warn_(StrCat(std::string(synced.message()), ". Training goes on"));
}

void AppendFile::Close() {
  if (std::exchange(closed_, true)) return;
  if (file_ != nullptr || !kept_.empty()) Sync();
  if (file_ != nullptr) file_->Close().IgnoreError();  // all of it was synced
  lost_ += static_cast<int64_t>(sizes_.size());
  kept_.clear();
  sizes_.clear();
  if (lost_ > 0) {
    warn_(StrCat(Entries(lost_), " of ", options_.path, " could not be written: lost"));
  }
}

AppendFile::Options LinesAt(std::string path) {
  return {.path = std::move(path), .end_of_entries = EndOfLines};
}

}  // namespace horizon
